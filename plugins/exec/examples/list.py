#!/usr/bin/env python3
"""Reads a list that comes in pages: {"items": [{"url": ...}, ...], "next": URL or null}. Keeps every page, and has each
item fetched by the http collector. Its input is {"url": the first page}. See trotline-exec(7)."""
import json
import sys
from urllib.parse import urljoin


def say(**request):
    print(json.dumps(request), flush=True)


url = json.loads(sys.stdin.readline())["payload"]["url"]
while url:
    say(op="fetch", url=url, **{"class": "api"})
    answer = json.loads(sys.stdin.readline())
    if answer["op"] == "error" or answer["status"] != 200:
        say(op="done", status="partial", error=f"{url}: {answer.get('error') or answer['status']}")
        sys.exit()
    say(op="put", dataset="pages", response=answer["response"])
    page = json.loads(answer["text"])
    for item in page["items"]:
        say(op="spawn", collector="http", args={"url": urljoin(answer["url"], item["url"]), "follow": False})
    url = page.get("next") and urljoin(answer["url"], page["next"])
say(op="done", status="success")
