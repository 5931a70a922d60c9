#!/usr/bin/env python3
"""api_secrets.py - what APIs want to know one by: keys in every place, OAuth2 tokens shared by runs, and that none leaks."""
import sys

sys.dont_write_bytecode = True
from lib_api import *  # noqa: E402, F403


def secret_world(kind):
    config = ""
    w = world(f"api: x\nquery: {{q: a, p: \"{{page}}\"}}\nitems: /items\npages: {{by: page}}\n{kind}", env={"KEY": SECRET})
    return w, lambda *origins: w.configure(f"apis: [apis]\nsecrets:\n  KEY: {{env: KEY, origins: [{', '.join(origins)}]}}\n" + config)


def forms_of(secret, user="bob"):
    return [secret.encode(), base64.b64encode(f"{user}:{secret}".encode()), b"s3cr3t%2Fkey", b"s3cr3t\\/key", b"s3cr3t"]


def leaks(w):
    """Files of the lake and the catalog in which the secret stands, in any spelling."""
    files = [w.lake / f for f in w.files()] + [w.catalog, *w.dir.glob("catalog.db-*")]
    return [str(f) for f in files if any(x in f.read_bytes() for x in forms_of(SECRET))]


def secrets():
    echo = lambda path, query, headers, body: (200, {"X-Echo": (headers.get("Authorization") or headers.get("X-Key") or
        query.get("key") or "").replace("\r", "")}, {"items": [query["p"]] if int(query["p"]) < 2 else [], "you_sent": [
            dict(headers.items()), s.asked[-1]["target"], unquote(s.asked[-1]["target"])]})
    for name, kind, seen in (
            ("header", "secret: {as: header, name: X-Key}", lambda a: a["headers"].get("X-Key")),
            ("query", "secret: {as: query, name: key}", lambda a: a["query"].get("key")),
            ("bearer", "secret: {as: bearer}", lambda a: (a["headers"].get("Authorization") or "")[7:]),
            ("basic", "secret: {as: basic, user: bob}", lambda a: base64.b64decode(
                (a["headers"].get("Authorization") or "")[6:]).decode().partition(":")[2])):
        w, configure = secret_world(kind)
        s = Server(echo)
        configure(s.base[:-1])
        ended, d = run(w, base=s.base, secret="KEY")
        eq(f"secret as {name}: the server gets it with every page", [seen(a) for a in s.asked], [SECRET] * 3)
        none(f"secret as {name}: it stands nowhere, though the server repeats it", leaks(w))
        ok(f"secret as {name}: the answer says what was struck out", ended.code == 0 and
           pages(d)[0][0]["metadata"]["http"].get("struck_out", 0) > 0, ended, pages(d)[:1])
        configure("https://elsewhere.example")
        s.asked.clear()
        run(w, base=s.base, secret="KEY", pages=1)
        ok(f"secret as {name}: not to an origin that it is not bound to", s.asked and all(
            SECRET not in unquote(json.dumps(a)) and not seen(a) for a in s.asked), s.asked)
    w, configure = secret_world("secret: {as: query, name: key}")
    ended, _ = run(w, base="http://127.0.0.1:9/")
    ok("secret: one that is wanted is missed before anything is asked", ended.code == 3 and
       "wants a credential" in ended.err, ended)


def redirects():
    """A server that sends its own parameters back; and one that sends elsewhere."""
    w, configure = secret_world("secret: {as: query, name: key}")
    s = Server(lambda path, query, headers, body: (302, {"Location": "/moved" + s.asked[-1]["target"][1:]}, "") if
               path == "/" else (200, {}, {"items": []}))
    configure(s.base[:-1])
    ended, d = run(w, base=s.base, secret="KEY", pages=1)
    eq("redirect: the parameter goes along once", [a["target"].count("key=") for a in s.asked], [1, 1])
    eq("redirect: and is right", s.asked[1]["query"]["key"], SECRET)
    none("redirect: it stands nowhere", leaks(w))
    other = Server(lambda *_: (200, {}, {"items": []}))
    s.answer = lambda *_: (302, {"Location": other.base}, "")
    s.asked.clear()
    run(w, leash="{hosts: ['127.0.0.1']}", base=s.base, secret="KEY", pages=2)
    ok("redirect: to another origin it does not go", len(other.asked) == 1 and
       "key" not in other.asked[0]["query"], other.asked)


def oauth2():
    kind = "secret: {as: oauth2, token_url: 'https://login.example/', client_id: trotline, scope: read}"
    w, configure = secret_world(kind)

    def answer(path, query, headers, body):
        if path == "/token":
            return 200, {}, {"access_token": "t0k3n-of-the-hour", "token_type": "Bearer", "expires_in": 3600}
        return 200, {}, {"items": [query["p"]] if query["p"] == "0" else [], "you_sent": headers.get("Authorization")}

    s = Server(answer)
    configure(s.base[:-1])
    ended, d = run(w, base=s.base, token_url=s.base + "token", secret="KEY")
    eq("oauth2: a token, then pages with it", [a["path"] for a in s.asked], ["/token", "/", "/"])
    token = s.asked[0]
    eq("oauth2: client credentials in the body", (token["method"], {k: v[0] for k, v in parse_qs(token["body"]).items()}),
       ("POST", {"grant_type": "client_credentials", "client_id": "trotline", "client_secret": SECRET, "scope": "read"}))
    eq("oauth2: the token is shown", [a["headers"].get("Authorization") for a in s.asked[1:]],
       ["Bearer t0k3n-of-the-hour"] * 2)
    none("oauth2: neither stands anywhere", leaks(w) + [str(f) for f in w.files() if b"t0k3n" in (w.lake / f).read_bytes()])
    s.answer = lambda *_: (400, {}, {"error": "invalid_client"})
    ended, d = run(w, base=s.base, token_url=s.base + "token", secret="KEY", pages=1)
    ok("oauth2: no token is told", d.status == "failed" and "gave no token" in d.raw.decode(), d and d.d)
    for token in ("a\tb", "a\x01b", "a\0b", "a\r\nX-Other: 1", "a b", "\u00fc", "", {}, "x" * 8193):
        s.asked.clear()
        s.answer = lambda *_, t=token: (200, {}, {"access_token": t, "token_type": "bearer"})
        ended, d = run(w, base=s.base, token_url=s.base + "token", secret="KEY", pages=1)
        eq(f"oauth2: {str(token)[:12]!r} is no token, and goes nowhere", (d.status, [a["path"] for a in s.asked]), ("failed", ["/token"]))


def tokens():
    """One token for all runs of a crawl that show the same secret at the same place; another when it is refused."""
    kind = "secret: {as: oauth2, token_url: 'https://login.example/', client_id: trotline, scope: %s}\narguments: {q: {}}\n"
    w, configure = secret_world(kind % "read")
    (w.dir / "apis/y.yml").write_text((w.dir / "apis/x.yml").read_text().replace("api: x", "api: y").replace("scope: read",
                                                                                              "scope: write"))
    lock, given, refused = threading.Lock(), [], set()

    def answer(path, query, headers, body):
        if path == "/token":
            with lock:
                given.append(body)
                return 200, {}, dict({"access_token": f"t0k3n-{len(given)}", "token_type": "bearer"}, **life)
        token = (headers.get("Authorization") or "").removeprefix("Bearer ")
        if token in refused:
            return 401, {}, {"error": "expired"}
        return 200, {}, {"items": [query["p"]] if query["p"] == "0" else [], "you_sent": token}

    def many(name, n, apis=("x",), **more):
        given.clear(), s.asked.clear()
        ended = w.tl("run", w.crawl(name, *[{"collector": "api", "args": dict(more, api=a, base=s.base, q=str(i), secret="KEY",
                     token_url=s.base + "token")} for a in apis for i in range(n)]), "--set", "workers.max=3")
        return ended, [a["headers"].get("Authorization") for a in s.asked if a["path"] == "/"]

    s, life = Server(answer), {"expires_in": 3600}
    configure(s.base[:-1])
    ended, shown = many("share", 40)
    eq("tokens: forty runs show one", (ended.code, len(given), set(shown), len(shown)), (0, 1, {"Bearer t0k3n-1"}, 80))
    ended, shown = many("scopes", 5, ("x", "y"))
    eq("tokens: another scope, another token", (ended.code, len(given), len(set(shown))), (0, 2, 2))
    refused.add("t0k3n-1")
    ended, shown = many("refused", 20)
    eq("tokens: one that is refused is got anew once, for all", (ended.code, len(given), shown[-1], w.statuses(ended.root)),
       (0, 2, "Bearer t0k3n-2", {"success": 20}))
    refused.update(f"t0k3n-{i}" for i in range(100))
    ended, shown = many("always", 1)
    eq("tokens: who always says 401 is asked twice", (len(given), len(shown), w.statuses(ended.root)), (2, 2, {"failed": 1}))
    refused.clear()
    for name, life, most in (("nothing", {}, 1), ("no number", {"expires_in": "soon"}, 1), ("a text", {"expires_in": "3600"}, 1),
                             ("over all bounds", {"expires_in": 10 ** 40}, 1), ("negative", {"expires_in": -1}, 1)):
        ended, _ = many(f"life-{name}".replace(" ", "-"), 6)
        eq(f"tokens: expires_in {name}", (ended.code, len(given)), (0, most))
    life = {"expires_in": 0}
    ended, _ = many("none", 6)
    eq("tokens: one that is over at once is not shared", (ended.code, len(given)), (0, 6))
    life = {"expires_in": 3600}
    fine, s.answer = s.answer, lambda path, *rest: (400, {}, {"error": "invalid_client"}) if path == "/token" else (200, {}, {})
    ended, shown = many("client", 3)
    ok("tokens: one that cannot be had fails those that want it, and is told", shown == [] and w.statuses(ended.root) == {
        "failed": 3} and "answered 400: invalid_client" in w.one("SELECT error FROM runs WHERE status = 'failed' AND collector = "
                                                                 "'api' ORDER BY run_id DESC LIMIT 1"), ended)
    s.answer = lambda path, query, headers, body: (400, {"X-Echo": SECRET}, {"error": f"{SECRET} is wrong", "you_sent": body})
    ended, shown = many("echo", 1)
    ok("tokens: who says the secret back is not quoted", "**" in w.one("SELECT error FROM runs WHERE status = 'failed' ORDER BY run_id "
       "DESC LIMIT 1"), ended)
    none("tokens: none of it stands anywhere", leaks(w) + [str(f) for f in w.files() if b"t0k3n" in (w.lake / f).read_bytes()] +
         [str(f) for f in w.dir.glob("catalog.db*") if b"t0k3n" in f.read_bytes()])
    s.answer = fine
    given.clear()
    payload = w.dir / "payload.json"
    payload.write_text(json.dumps({"api": "x", "base": s.base, "secret": "KEY", "token_url": s.base + "token"}))
    ended = w.tl("collect", "api", "--payload", payload)
    eq("tokens: collect gets one", (ended.code, len(given), "t0k3n" in ended.out + ended.err), (0, 1, False))


main(secrets, redirects, oauth2, tokens)
