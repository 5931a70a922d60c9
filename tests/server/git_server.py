"""git_server.py - repositories of one folder over HTTP or HTTPS, by `git http-backend`, on an address and a port of choice.

`asked` tells of every request: (method, path, host, the common name of the client's certificate or None). `before` is
called with the same as a request comes in; what it returns, if not None, is the answer: (status, headers, body)."""
import http.server
import os
import socket
import socketserver
import ssl
import subprocess
import threading

ENV = {**{k: v for k, v in os.environ.items() if not k.startswith("GIT_")}, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
       "LC_ALL": "C", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*", "GIT_HTTP_EXPORT_ALL": "1"}


def backend(folder, request, path, query, body):
    """What `git http-backend` says to a request of an HTTP handler: (status, headers, body)."""
    env = {**ENV, "GIT_PROJECT_ROOT": str(folder), "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": request.command,
           "REMOTE_ADDR": "127.0.0.1", "CONTENT_TYPE": request.headers.get("Content-Type") or "", "CONTENT_LENGTH": str(len(body)),
           "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding") or "",
           "GIT_PROTOCOL": request.headers.get("Git-Protocol") or ""}
    p = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env=env, timeout=60)
    head, _, rest = p.stdout.partition(b"\r\n\r\n")
    headers = [tuple(h.decode().split(": ", 1)) for h in head.split(b"\r\n") if b": " in h]
    return next((int(v.split()[0]) for k, v in headers if k == "Status"), 200), headers, rest


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if (self.headers.get("Transfer-Encoding") or "").lower() == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        return body

    def answer(self, status, headers, body):
        self.send_response(status)
        for k, v in headers:
            if k not in ("Status", "Content-Length"):
                self.send_header(k, v)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        server, body = self.server.owner, self.body()
        path, _, query = self.path.partition("?")
        certificate = self.connection.getpeercert() if server.tls else None
        name = dict(x[0] for x in certificate["subject"])["commonName"] if certificate else None
        request = (self.command, self.path, self.headers.get("Host"), name)
        server.asked.append(request)
        given = server.before(*request) if server.before else None
        if given:
            return self.answer(*given)
        self.answer(*backend(server.folder, self, path, query, body))

    do_POST = do_GET


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self):  # as it is there, but for the name of the host, which is looked up
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def handle_error(self, *_):  # who breaks off is no news
        pass


class Server6(Server):
    address_family = socket.AF_INET6


class GitServer:
    """tls: (certificate, key) in PEM files; clients: the authority by which clients must prove who they are."""

    def __init__(self, folder, address="127.0.0.1", port=0, tls=None, clients=None, before=None):
        self.folder, self.before, self.tls, self.asked = folder, before, tls, []
        self.server = (Server6 if ":" in address else Server)((address, port), Handler)
        self.server.owner = self
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            if clients:
                context.load_verify_locations(clients)
                context.verify_mode = ssl.CERT_REQUIRED
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.port = self.server.server_address[1]
        self.base = f"http{'s' if tls else ''}://{address}:{self.port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def git(*args, data=None):
    return subprocess.run(["git", *map(str, args)], input=data, capture_output=True, env=ENV, check=True, timeout=60).stdout.decode()


def commit(path, text):
    """One more commit on main, whose only file has this text; returns the refs as for-each-ref tells them."""
    onto = "from refs/heads/main^0\n" if git("-C", path, "for-each-ref") else ""
    git("-C", path, "fast-import", "--quiet", data=(f"commit refs/heads/main\ncommitter A U Thor <a@example.org> 1700000000 +0000\ndata 2\nc\n\n{onto}"
                                                    f"M 100644 inline a\ndata {len(text.encode())}\n{text}\n").encode())
    return git("-C", path, "for-each-ref", "--format=%(objectname) %(refname)").splitlines()


def make_repository(path, text="a\n"):
    """A bare repository with one commit; returns its refs."""
    git("init", "-q", "--bare", "-b", "main", path)
    return commit(path, text)
