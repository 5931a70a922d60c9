"""proxy.py - a proxy of HTTP or SOCKS5 on a port of its own, which tells who asked it for what."""
import base64
import contextlib
import socket
import struct
import threading


def pump(a, b):
    with contextlib.suppress(OSError):
        while data := a.recv(65536):
            b.sendall(data)
    with contextlib.suppress(OSError):
        b.shutdown(socket.SHUT_WR)


def exactly(c, n):
    data = b""
    while len(data) < n:
        more = c.recv(n - len(data))
        if not more:
            raise OSError("ended")
        data += more
    return data


class Proxy:
    """Speaks HTTP (CONNECT, and whole URLs) or SOCKS5. Names are looked up in `hosts`; who is not there is refused.
    login: "NAME:PASSWORD" that HTTP needs; who comes without is told so."""

    def __init__(self, kind, hosts, login=None):
        self.kind, self.hosts, self.login, self.asked = kind, hosts, login, []
        self.s = socket.create_server(("127.0.0.1", 0))
        self.port = self.s.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                c, _ = self.s.accept()
                threading.Thread(target=self.serve, args=(c,), daemon=True).start()

    def serve(self, c):
        with contextlib.suppress(OSError, ValueError), c:
            (self.http if self.kind == "http" else self.socks)(c)

    def reach(self, name, port):
        self.asked.append(f"{name}:{port}")
        return socket.create_connection(self.hosts[name], 10) if name in self.hosts else None

    def join(self, c, to, first=b""):
        with to:
            to.sendall(first)
            t = threading.Thread(target=pump, args=(to, c), daemon=True)
            t.start()
            pump(c, to)
            t.join()

    def http(self, c):
        head = b""
        while b"\r\n\r\n" not in head:
            head += exactly(c, 1)
        method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
        if self.login and b"proxy-authorization: basic " + base64.b64encode(self.login.encode()).lower() not in head.lower():
            c.sendall(b'HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic realm="x"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
            return
        host = target if method == "CONNECT" else target.split("/")[2]
        name, _, port = host.partition(":")
        to = self.reach(name, port or "80")
        if not to:
            c.sendall(b"HTTP/1.1 403 Not through me\r\nContent-Length: 2\r\nX-From: proxy\r\n\r\nno")
        elif method == "CONNECT":
            c.sendall(b"HTTP/1.1 200 Go on\r\nX-From: proxy\r\n\r\n")
            self.join(c, to)
        else:
            self.join(c, to, head.replace(target.encode(), ("/" + target.split("/", 3)[3]).encode(), 1).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))

    def socks(self, c):
        _, n = exactly(c, 2)
        exactly(c, n)
        c.sendall(b"\5\0")
        _, _, _, kind = exactly(c, 4)
        name = exactly(c, exactly(c, 1)[0]).decode() if kind == 3 else socket.inet_ntoa(exactly(c, 4)) if kind == 1 else "six"
        to = self.reach(name, struct.unpack(">H", exactly(c, 2))[0])
        c.sendall(b"\5" + (b"\0" if to else b"\2") + b"\0\1\0\0\0\0\0\0")
        if to:
            self.join(c, to)
