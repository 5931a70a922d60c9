"""lib_api.py - servers that a test writes, descriptions of APIs, and a world that asks them."""
import base64
import json
import os
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from lib import World, eq, main, none, note, ok, original, part, same

SECRET = "s3cr3t/key+with=signs"


class Server:
    """Answers from a function (path, query, headers, body) -> (status, headers, body); keeps what it was asked."""

    def __init__(self, answer):
        self.asked = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                query = {k: v[-1] for k, v in parse_qs(parts.query, keep_blank_values=True).items()}
                robots = parts.path == "/robots.txt"
                robots or server.asked.append({"method": self.command, "target": self.path, "path": parts.path, "query": query,
                                     "headers": dict(self.headers.items()), "body": body})
                status, headers, answer = (404, {}, "") if robots else server.answer(parts.path, query, self.headers, body)
                raw = answer if isinstance(answer, bytes) else (
                    answer if isinstance(answer, str) else json.dumps(answer)).encode()
                self.send_response(status)
                if "Content-Type" not in headers:
                    self.send_header("Content-Type", "application/json")
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = handle_any

            def log_message(self, *_):
                pass

        self.answer = answer
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.http.server_port}/"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


def world(*descriptions, config="", env=None):
    w = World(plugins=("api", "http"), config=config + ("apis: [apis]\n" if descriptions else ""))
    if descriptions:
        (w.dir / "apis").mkdir()
    for text in descriptions:
        name = text.split("api:", 1)[1].split()[0].strip(",}")
        (w.dir / "apis" / f"{name}.yml").write_text(text)
    w.env.update(env or {})
    return w


runs = 0


def run(w, name="x", leash=None, **args):
    """One line; the run, its document, and how the command ended."""
    global runs
    runs += 1
    crawl = w.crawl(f"crawl-{runs}", {"collector": "api", "args": dict(args, api=name)}, leash=leash)
    ended = w.tl("run", crawl)
    documents = [d for d in (w.documents(ended.root) if ended.root else []) if d.collector == "api"]
    return ended, documents[0] if documents else None


def pages(document):
    """[(data, metadata.api)] of the answers."""
    data = document.dataset("answers") if document else None
    return [(p, p["metadata"]["api"]) for p in data["pages"].values()] if data else []


def ends(document):
    return [about["ended"] for _, about in pages(document)]


LINK = "api: x\nitems: /items\npages: {by: link}\n"
NEXT = "api: x\nitems: /items\npages: {by: next, at: /next}\n"
CURSOR = 'api: x\nquery: {c: "{cursor}"}\nitems: /items\npages: {by: cursor, at: /next}\n'
PAGE = 'api: x\nquery: {p: "{page}"}\nitems: /items\npages: {by: page, first: 1, most: 50}\n'
OFFSET = 'api: x\nquery: {o: "{offset}", n: "{size}"}\nitems: /items\npages: {by: offset, size: 2, total: /total}\n'
