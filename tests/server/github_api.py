"""github_api.py - an API that speaks GitHub's dialect, for tests: a table of exchanges in no order, and behaviours on cue.

A world of things is put into `Api.table` by path (and query, where it matters); an answer is a body (bytes, or what JSON
can write) or an Answer. ETags are made of the body and, as GitHub does, of the token; a request that has the ETag gets 304
without a Link header. `{api}` in a body stands for the base URL, which has a path of its own. Every request is logged.
"""
import hashlib
import http.server
import json
import threading
import time


class Answer:
    """One answer: status, headers, body; `then` is what follows it the next time, for ever at its end."""

    def __init__(self, body=b"", status=200, then=None, cut=False, etag=True, **headers):
        self.body = body if isinstance(body, (bytes, str)) else json.dumps(body, ensure_ascii=False)
        self.status, self.then, self.cut, self.etag = status, then, cut, etag
        self.headers = {k.replace("_", "-"): v for k, v in headers.items()}


class Api:
    prefix = "/api/v3"  # as a GitHub Enterprise server has it

    def __init__(self, table=None):
        self.table, self.log, self.lock = dict(table or {}), [], threading.Lock()
        self.limits = {}  # token: [remaining, reset]; None counts for whom nothing else is said
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                api.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        self.base = self.origin + self.prefix

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    # -- what was asked

    def asked(self, path=None):
        """(path, status) of every request, or how often this path was asked for."""
        with self.lock:
            rows = [(x["path"], x["status"]) for x in self.log]
        return rows if path is None else sum(p == path for p, _ in rows)

    def forget(self):
        with self.lock:
            self.log.clear()

    # -- answering

    def find(self, target):
        """An exact target first, then without the size of pages, then the path alone."""
        for key in (target, target.replace("&per_page=100", "").replace("?per_page=100", ""), target.split("?")[0]):
            if key in self.table:
                return key
        return None

    def limited(self, token):
        """Headers of the limit of this token, and whether it is over. Counts the request."""
        limit = self.limits.get(token, self.limits.get(None))
        if limit is None:
            return {}, False
        over = limit[0] <= 0 and limit[1] > time.time()
        if limit[0] <= 0 and not over:
            limit[0] = 5000
        limit[0] -= not over
        return {"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": str(max(limit[0], 0)), "X-RateLimit-Reset": str(int(limit[1]))}, over

    def answer(self, h):
        target = h.path[len(self.prefix):] if h.path.startswith(self.prefix) else "?" + h.path
        token = h.headers.get("Authorization")
        with self.lock:
            headers, over = self.limited(token)
            key = None if over else self.find(target)
            a = self.table.get(key)
            if isinstance(a, Answer) and a.then is not None:
                self.table[key] = a.then
        if over:
            a = Answer({"message": "API rate limit exceeded for user ID 1."}, 403, etag=False)
        elif a is None:
            a = Answer({"message": "Not Found", "documentation_url": "https://docs.github.com/rest"}, 404, etag=False)
        elif not isinstance(a, Answer):
            a = Answer(a)
        body = (a.body.encode() if isinstance(a.body, str) else a.body).replace(b"{api}", self.base.encode())
        status = a.status
        headers.update({k: str(v).replace("{api}", self.base) for k, v in a.headers.items()})
        if a.etag and status == 200:
            etag = '"' + hashlib.sha256(body + (token or "").encode()).hexdigest()[:32] + '"'
            headers["ETag"] = etag
            if h.headers.get("If-None-Match") == etag:
                status, body = 304, b""
                headers.pop("Link", None)
        with self.lock:
            self.log.append({"path": target, "status": status, "token": token, "at": time.monotonic(), "agent": h.headers.get("User-Agent"),
                             "accept": h.headers.get("Accept")})
        h.send_response(status)
        for name, value in headers.items():
            h.send_header(name, value)
        if status not in (204, 304):
            h.send_header("Content-Type", "application/json; charset=utf-8")
            h.send_header("Content-Length", str(len(body)))
        h.end_headers()
        h.wfile.write(body[: len(body) // 2] if a.cut else body)
        if a.cut:
            h.close_connection = True


# ---------------------------------------------------------------- things, cut to what the collector reads

def user(n, login=None):
    login = login or f"u{n}"
    return {"id": n, "login": login, "url": f"{{api}}/users/{login}", "type": "User"}


def repo(n=4242, name="rocket", owner=77, login="acme", **more):
    return {"id": n, "name": name, "full_name": f"{login}/{name}", "private": False, "owner": user(owner, login),
            "url": f"{{api}}/repos/{login}/{name}", "stargazers_count": 0, "subscribers_count": 0, **more}


def issue(n, number, by=501, comments=0, at="repos/acme/rocket", **more):
    return {"id": n, "number": number, "title": f"issue {number} \U0001f6a3", "user": user(by) if by else None, "assignee": None, "assignees": [],
            "closed_by": None, "comments": comments, "labels": [], "url": f"{{api}}/{at}/issues/{number}",
            "comments_url": f"{{api}}/{at}/issues/{number}/comments", **more}


def link(**rels):
    return ", ".join(f'<{{api}}{target}>; rel="{rel}"' for rel, target in rels.items())
