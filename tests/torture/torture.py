#!/usr/bin/env python3
"""torture.py - one allocation of a worker fails, each in turn: make check-torture, or torture.py [FIRST [LAST [STEP]]].

Memory that is used up ends a worker by design, and costs at most the run on the processor; where a bound is part of the
contract the run fails instead. In either case the crawl ends with what it could get, by exit 0, 5 or 6, and lake and catalog
agree. FAILMALLOC is the folder of failmalloc.so."""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system"))
from lib import *  # noqa: E402

SHIM = Path(os.environ.get("FAILMALLOC") or BUILD / "tests/torture") / "failmalloc.so"
FIRST, LAST, STEP = [int(x) for x in sys.argv[1:4]] + [1, 3001, 10][len(sys.argv[1:4]):]
del sys.argv[1:]
PATIENT = 60  # seconds after which a crawl of 13 pages hangs


def crawl(w, site, how, n):
    """What is wrong after the Nth allocation failed; and whether there was an Nth."""
    shim = w.dir / f"failmalloc.{n}.{how}.so"
    shutil.copyfile(SHIM, shim)
    r = w.tl("run", w.crawl(f"{how}-{n}", site.base + "/", leash="{depth: 9}"), env={"LD_PRELOAD": str(shim)}, patience=PATIENT)
    wrong = [] if r.code in (0, 5, 6) else [f"{how} {n}: {r}"]
    if r.root is None:
        return wrong + [f"{how} {n}: no root: {r}"], True
    wrong += [f"{how} {n}: {x}" for x in w.faults(r.root)]
    got = w.statuses(r.root)
    lost = sum(n for status, n in got.items() if status != "success")
    if how == "once" and (lost > 1 or (lost == 0 and got != {"success": 13})):
        wrong.append(f"once {n}: one run may be lost, and what it leads to, not {got}")
    reached = how == "always" or Path(f"{shim}.done").exists()
    shim.unlink()
    return wrong, reached


def torture():
    site = Site("--site", "tree", "--arity", 3, "--depth", 2)
    w = World(config="workers: {max: 1, inflight: 2}\n")
    n = FIRST
    while n <= LAST:
        wrong, reached = crawl(w, site, "once", n)
        if wrong or n % 100 == 1:
            none(f"allocations up to {n} fail", wrong)
        if not reached:
            break
        n += STEP
    note(f"a worker makes fewer than {n} allocations" if n <= LAST else f"stopped at {n}")
    for n in (1, 50, 200, 500, 1000):
        wrong, _ = crawl(w, site, "always", n)
        none(f"allocation {n} fails in every worker", wrong)
    v = w.tl("verify")
    ok("verify finds nothing", v.code == 0 and not v.out.strip(), v)
    site.close()


main(torture)
