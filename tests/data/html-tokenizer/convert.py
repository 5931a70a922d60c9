#!/usr/bin/env python3
"""Turns html5lib tokenizer tests into lines: python3 convert.py FILE.test... > cases.tsv

Fields, parted by TAB: case, initial state, last start tag, input, then the tokens: `S name` (start tag; ` /` behind it: self-closing)
followed by one `A name=value` for each attribute, `E name`, `C text` (neighbours joined), `! comment`, `D name|public|system|quirks`
with `-` for what is missing. Bytes other than printable ASCII, and the backslash, are \\xHH."""
import json
import pathlib
import re
import sys


def esc(text):
    return "".join(chr(c) if 32 <= c < 127 and c != 92 else f"\\x{c:02x}" for c in text.encode())


def tokens(case):
    joined = []
    for t in case["output"]:
        if t[0] == "Character" and joined and joined[-1][0] == "Character":
            joined[-1] = ["Character", joined[-1][1] + t[1]]
        else:
            joined.append(t)
    for t in joined:
        if t[0] == "StartTag":
            yield "S " + esc(t[1]) + (" /" if len(t) > 3 and t[3] else "")
            yield from (f"A {esc(n)}={esc(v)}" for n, v in t[2].items())
        elif t[0] == "EndTag":
            yield "E " + esc(t[1])
        elif t[0] == "Character":
            yield "C " + esc(t[1])
        elif t[0] == "Comment":
            yield "! " + esc(t[1])
        elif t[0] == "DOCTYPE":
            yield "D " + "|".join("-" if v is None else esc(v) for v in t[1:4]) + ("|" if t[4] else "|quirks")


def plain(value):
    if isinstance(value, str):
        return re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), value)
    if isinstance(value, list):
        return [plain(v) for v in value]
    return {plain(k): plain(v) for k, v in value.items()} if isinstance(value, dict) else value


for path in map(pathlib.Path, sys.argv[1:]):
    for n, case in enumerate(json.loads(path.read_text())["tests"]):
        if case.get("doubleEscaped"):
            case["input"], case["output"] = plain(case["input"]), plain(case["output"])
        for state in case.get("initialStates", ["Data state"]):
            print("\t".join([f"{path.stem} {n}", state, case.get("lastStartTag", ""), esc(case["input"]), *tokens(case)]))
