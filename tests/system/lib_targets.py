"""lib_targets.py - what the tests of targets share: files of targets, pages that link, a scripted clock (`--now`), and what the
program lists."""
import datetime

from lib import *  # noqa: F403

NOW = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)


def at(days=0, hours=0):
    return (NOW + datetime.timedelta(days=days, hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def page(*urls):
    return "".join(f'<a href="{u}">x</a>' for u in urls)


def script(answers):
    """{path: body or list of bodies}: the fixture's script; nothing is cached."""
    text = ""
    for path, bodies in answers.items():
        text += f"on {path}\n"
        for i, body in enumerate([bodies] if isinstance(bodies, str) else bodies):
            text += ("next\n" if i else "") + f"  header Cache-Control: no-store\n  body <<END\n{body}\nEND\n"
    return text


def target(w, name, url, every="1d", more="", leash='{depth: 2, runs: 20, hosts: ["127.0.0.1"]}'):
    folder = w.dir / "targets"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yml").write_text(f"id: {name}\nname: all of {name}\nkinds: [topic]\nevery: {every}\nleash: {leash}\n{more}"
                                        f"lines:\n  - {{collector: http, args: {{url: \"{url}\"}}}}\n")


def listed(w, *options):
    return {t["id"]: t for t in w.tl("targets", "-o", "jsonl", *options).lines()}


def candidates(w, *options):
    return {c["text"]: c for c in w.tl("targets", "--candidates", "-o", "jsonl", *options).lines()}


def crawls(w):
    return [r["crawl"] for r in w.sql("SELECT crawl FROM crawls ORDER BY root_id")]
