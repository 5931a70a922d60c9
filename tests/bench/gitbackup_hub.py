#!/usr/bin/env python3
"""gitbackup_hub.py FOLDER - FOLDER/NAME.git over HTTP, by `git http-backend`, and their list as GitHub gives it.

Prints its port; ends with its input. GET /__stats: requests so far and those of git among them."""
import http.server
import json
import os
import socketserver
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import parse_qs, unquote

FOLDER = Path(sys.argv[1]).resolve()
NAMES = sorted(p.name.removesuffix(".git") for p in FOLDER.glob("*.git"))
ENV = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C", "GIT_CONFIG_COUNT": "1",
       "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*", "GIT_PROJECT_ROOT": str(FOLDER), "GIT_HTTP_EXPORT_ALL": "1"}
PAGE = 100
stats = {"requests": 0, "git": 0}


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body in one packet

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers):
        self.send_response(status)
        for k, v in headers:
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def backend(self, path, query):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if (self.headers.get("Transfer-Encoding") or "").lower() == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        env = {**ENV, "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_ADDR": "127.0.0.1",
               "CONTENT_TYPE": self.headers.get("Content-Type") or "", "CONTENT_LENGTH": str(len(body)),
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "", "GIT_PROTOCOL": self.headers.get("Git-Protocol") or ""}
        done = subprocess.run(["git", "http-backend"], input=body, stdout=subprocess.PIPE, env=env, check=False, close_fds=False)
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        headers = [tuple(h.decode().split(": ", 1)) for h in head.split(b"\r\n") if b": " in h]
        status = next((int(v.split()[0]) for k, v in headers if k == "Status"), 200)
        self.answer(status, rest, [h for h in headers if h[0] not in ("Status", "Content-Length")])

    def do_GET(self):
        path, _, query = self.path.partition("?")
        part = unquote(path).strip("/").split("/")
        base = f"http://{self.headers['Host']}"
        if path == "/__stats":
            return self.answer(200, json.dumps(stats).encode(), [])
        stats["requests"] += 1
        if part[0] == "git":
            stats["git"] += 1
            return self.backend("/" + "/".join(part[1:]), query)
        if part[0] == "users" and part[2:] == ["repos"]:
            at = int(parse_qs(query).get("page", ["1"])[0])
            page = [{"id": i + 1, "name": n, "full_name": f"bench/{n}", "owner": {"login": "bench"}, "size": 1, "fork": False, "archived": False,
                     "has_wiki": False, "clone_url": f"{base}/git/{n}.git"} for i, n in enumerate(NAMES)][(at - 1) * PAGE: at * PAGE]
            more = [("Link", f'<{base}{path}?per_page={PAGE}&page={at + 1}>; rel="next"')] if at * PAGE < len(NAMES) else []
            return self.answer(200, json.dumps(page).encode(), [("Content-Type", "application/json"), *more])
        self.answer(404, b'{"message":"Not Found"}', [("Content-Type", "application/json")])

    do_POST = do_GET


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64


server = Server(("127.0.0.1", 0), Hub)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
