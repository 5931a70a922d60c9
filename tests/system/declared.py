#!/usr/bin/env python3
"""What the configuration names, one file to a thing (APIs, types, targets, rules, templates), and is wrong: it hurts who
needs it and nobody else, and doctor tells each fault with its place."""
import json
import os
import re

from lib import Site, World, eq, main, none, ok

GOOD = "api: good\nbase: http://127.0.0.1:9/\n"
WRONG = 'api: rivers\nquery: {q: "{qq}"}\narguments: {q: {}}\n'
TOLD = "apis/rivers.yml:2:12: {qq} is not known; did you mean {q}?"


def world(apis=(), config="apis: [apis]\n", plugins=("api", "http")):
    w = World(plugins=plugins, config=config)
    (w.dir / "apis").mkdir()
    for name, text in apis:
        (w.dir / "apis" / name).write_text(text)
    return w


def refused(w, name, words, code=3):
    """A crawl with a line that asks for this API, at line 4 of its file."""
    r = w.tl("run", w.crawl(f"asks-{name}", {"collector": "api", "args": {"api": name}}))
    return ok(f"a line that asks for {name} is refused, with its place", r.code == code and words in r.err and
              f"asks-{name}.yml:4:5: " in r.last_line(), r)


def one_api():
    """A description that is wrong: whom does it hurt?"""
    site = Site(script="on /\n  page x\n")
    w = world([("rivers.yml", WRONG), ("good.yml", GOOD)])
    r = w.tl("run", w.crawl("else", site.base + "/"))
    ok("a crawl that does not need it is carried out, and one line warns of it", r.code == 0 and
       len([x for x in r.err.splitlines() if "warning: " in x]) == 1 and TOLD in r.err, r)
    eq("nothing is wrong between lake and catalog", w.faults(r.root), [])
    r = w.tl("-q", "run", w.crawl("quiet", site.base + "/"))
    eq("with -q it is silent", (r.code, r.err), (0, ""))
    refused(w, "rivers", TOLD)
    ok("of the others of its folder it is not told", "good" in w.tl("plugins", "show", "api").out)
    for command in (("ls",), ("convert",), ("collect", "http", "--payload", "/dev/null")):
        r = w.tl(*command)
        ok(f"{command[0]} ends as it would without", r.code != 3, r)
    r = w.tl("plugins", "show", "api")
    ok("plugins show api has it, and what is wrong", r.code == 0 and f"wrong" in r.out and TOLD in r.out, r)
    payload = w.dir / "payload.json"
    payload.write_text('{"api":"rivers","q":"x"}')
    r = w.tl("collect", "api", "--payload", payload)
    ok("collect of it is refused", r.code == 2 and TOLD in r.last_line(), r)
    r = w.tl("doctor")
    ok("doctor tells it, and its exit code does", r.code == 3 and [x for x in r.out.splitlines() if x.startswith("api ") and
       " bad " in x and TOLD in x], r)
    ok("doctor tells those that are right", [x for x in r.out.splitlines() if x.startswith("apis ") and "good, " in x and
                                            "rivers" not in x], r)
    (w.dir / "apis/rivers.yml").write_text(WRONG.replace("{qq}", "{q}"))
    r = w.tl("doctor")
    ok("once it is right, doctor is content", r.code == 0 and "good, rivers, crossref" in r.out, r)
    (w.dir / "apis/good.yml").write_text(GOOD + "secret: {as: bearer, from: KEY}\n")
    r = w.tl("doctor")
    ok("a secret that is not there is noted", r.code == 0 and re.search(r"^api +note +good: .* no secret KEY", r.out, re.M), r)


def names():
    """By which name a description that is wrong can be asked for: nobody gets another one in its place."""
    w = world([("crossref.yml", "api: crossref\nbase: [\n"), ("b.yml", "api: hn_algolia\nbass: x\n"), ("c.yml", ""),
               ("z.yml", "api: good\nbass: x\n"), ("good.yml", GOOD), ("zz.yml", GOOD)])
    refused(w, "crossref", "crossref.yml:3:1: ")
    refused(w, "hn_algolia", "b.yml:2:1: unknown key 'bass'")
    refused(w, "c", "c.yml:1:1: ")
    r = w.tl("plugins", "show", "api")
    ok("the first of a name wins, although a later one is wrong", "http://127.0.0.1:9/" in r.out, r)
    r = w.tl("run", "--plan", w.crawl("fine", {"collector": "api", "args": {"api": "good"}}))
    eq("and lines may ask for it", r.code, 0)
    (w.dir / "apis/gone.yml").symlink_to("nowhere")
    refused(w, "gone", "apis/gone.yml")
    eq("a file that cannot be read hurts no other", w.tl("run", "--plan", w.dir / "fine.yml").code, 0)
    w.configure("apis: [apis, missing]\n") # what is built in might have been replaced there
    refused(w, "searxng", "missing")
    eq("a folder that cannot be read hurts no crawl without APIs", w.tl("run", "--plan", w.crawl("plain", "http://127.0.0.1:9/")).code, 0)
    r = w.tl("doctor")
    ok("doctor tells of the folder", r.code == 3 and "missing" in r.out, r)
    for i in range(20):
        (w.dir / f"apis/n{i}.yml").write_text("x")
    r = w.tl("plugins")
    ok("of many the first are told, and how many there are", len(r.err.splitlines()) == 6 and "more descriptions" in r.err and
       "trotline doctor" in r.err, r)


def types():
    """Who makes tables needs the types; who does not, does not."""
    site = Site(script="on /\n  page x\n")
    w = world(config="convert: {types: [types]}\n", plugins=("http",))
    (w.dir / "types").mkdir()
    (w.dir / "types/boat.yml").write_text("type: boat\nversion: 1\nform: {collector: http}\n")
    place = "types/boat.yml:3:1: unknown key 'form'"
    r = w.tl("run", w.crawl("a", site.base + "/"))
    eq("types that are wrong: a crawl is carried out without a word", (r.code, place in r.err), (0, False))
    for command in ("ls", "verify", "convert"):
        eq(f"types that are wrong: {command}", w.tl(command).code, 0)
    for command in (("refine",), ("export", "duckdb"), ("diff", "--type", "boat", r.root, r.root)):
        done = w.tl(*command)
        ok(f"types that are wrong: {command[0]} is refused, with the place", done.code == 3 and place in done.last_line(), done)
    w.configure("convert: {types: [types], after: tables}\n")
    r = w.tl("-q", "run", w.dir / "a.yml")
    ok("a crawl that is to make tables is carried out, and ends with what is wrong, also with -q", r.code == 3 and
       place in r.err and w.statuses(w.newest_root()) == {"success": 1}, r)
    eq("unless nothing is to be worth an exit code", w.tl("run", w.dir / "a.yml", "--fail-on", "never").code, 0)
    r = w.tl("doctor")
    ok("doctor tells", r.code == 3 and place in r.out, r)


RULES = """count:
  - {type: http_link, column: to_url, as: host}
react:
  - {name: %s, on: {type: http_link}, column: to_url, template: %s}
"""


def targets():
    """doctor looks at targets with their lines, at rules and at templates."""
    w = world([("rivers.yml", WRONG)], "apis: [apis]\ntargets: {rules: discovery.yml}\n"
              "collectors: {http: {options: {nonsense: 1}}, gone: {options: {a: 1}}}\n")
    (w.dir / "targets").mkdir()
    for name, text in (("a.yml", "id: a\nname: x\nlines: [{collector: http, args: {url: 'http://127.0.0.1:9/'}}]\n"),
                       ("b.yml", "id: b\nname: x\nlnes: []\n"),
                       ("c.yml", "id: c\nname: x\nlines:\n  - {collector: http, args: {ulr: 'http://127.0.0.1:9/'}}\n"),
                       ("d.yml", "id: d\nname: x\nlines:\n  - {collector: api, args: {api: rivers}}\n"),
                       ("e.yml", "id: e\nname: x\nlines:\n  - {collector: htp}\n"),
                       ("f.yml", "id: a\nname: x\nlines: [{collector: http, args: {url: 'http://127.0.0.1:9/'}}]\n")):
        (w.dir / "targets" / name).write_text(text)
    (w.dir / "discovery.yml").write_text(RULES % ("ours", "t.template"))
    (w.dir / "t.template").write_text("kinds: [site]\nlins: []\n")
    r = w.tl("doctor", "-o", "json")
    checks = json.loads(r.out)["checks"]
    bad = [(c["what"], c["text"]) for c in checks if c["state"] == "bad"]
    for what, words in (("target", "targets/b.yml:3:1: unknown key 'lnes'; did you mean 'lines'?"),
                        ("target", "targets/c.yml:4:5: "), ("target", "targets/d.yml:4:5: the description of the API rivers is wrong: "),
                        ("target", "targets/e.yml:4:5: there is no collector htp; did you mean http?"),
                        ("target", "targets/f.yml: the target 'a' is in "), ("api", TOLD),
                        ("template", "of the reaction ours: "), ("template", "t.template:2:1: unknown key 'lins'"),
                        ("options", "trotline.yml:7:"), ("options", "nonsense")):
        ok(f"doctor: {what}: {words[:50]}", any(x == what and words in text for x, text in bad), bad)
    none("doctor: and nothing else", [x for x in bad if x[0] not in ("target", "api", "template", "options")])
    ok("doctor: options of a collector that is not there are a note", any(c["what"] == "options" and c["state"] == "note"
       and "gone" in c["text"] for c in checks), checks)
    eq("doctor: a collector that is missing counts less than a configuration that is wrong", r.code, 3)
    for name in "bcdf":
        os.remove(w.dir / f"targets/{name}.yml")
    (w.dir / "apis/rivers.yml").unlink()
    (w.dir / "t.template").write_text("lines: [{collector: api, args: {api: crossref, q: '{target.name}'}}]\n")
    w.configure("apis: [apis]\ntargets: {rules: discovery.yml}\n")
    r = w.tl("doctor")
    ok("doctor: only a line's collector is missing", r.code == 4 and r.out.count(" bad ") == 1, r)
    os.remove(w.dir / "targets/e.yml")
    r = w.tl("doctor")
    ok("doctor: sound", r.code == 0 and "1 rules, 1 reactions" in r.out and " bad " not in r.out, r)
    (w.dir / "discovery.yml").write_text((RULES % ("ours", "t.template")).replace("to_url", "to_ulr", 1))
    r = w.tl("doctor")
    ok("doctor: rules that are wrong", r.code == 3 and "discovery.yml:2:" in r.out and "to_url" in r.out, r)
    none("doctor makes nothing", [x for x in w.files()] + ([w.catalog] if w.catalog.exists() else []))


main(one_api, names, types, targets)
