#!/usr/bin/env python3
"""targets_week.py - ten targets through a week that is scripted: how often each has its turn when cron calls every hour, never on
time; that being late moves no schedule, what was missed is skipped, and a clock that was set back stalls nobody; and last week's
crawl of a target compared with this week's."""
import sys

sys.dont_write_bytecode = True
from lib_targets import *  # noqa: E402, F403

EVERY = {"six": "6h", "half": "12h", "day1": "1d", "day2": "1d", "day3": "1d", "odd": "36h", "two": "2d", "three": "3d", "week": "7d", "once": "none"}


def due(w, when):
    return w.tl("-q", "run", "--due", "--now", when)


def stamp(text):
    return text.replace("Z", ".000000Z")


def the_week():
    site, w = Site(script=script({"/*": "x"})), World()
    for name, every in EVERY.items():
        target(w, name, f"{site.base}/{name}", every=every)
    bad = []
    for hour in range(7 * 24):
        r = due(w, at(0, hour + (hour * 7 % 11) / 60))  # up to ten minutes late
        if (r.code, r.out, r.err) != (0, "", ""):
            bad.append((hour, r))
    none("every call ends well and says nothing", bad)
    eq("each had the turns that its schedule has", {k: t["crawls"] for k, t in listed(w).items()},
       {"six": 28, "half": 14, "day1": 7, "day2": 7, "day3": 7, "odd": 5, "two": 4, "three": 3, "week": 1, "once": 1})
    points = [r["due_at"] for r in w.sql("SELECT due_at FROM crawls WHERE crawl = 'six' ORDER BY root_id")]
    eq("each turn was for a point of it", points, [stamp(at(0, 6 * i)) for i in range(28)])
    begun = [r["turn_at"] for r in w.sql("SELECT turn_at FROM crawls WHERE crawl = 'day1' ORDER BY root_id")]
    eq("whenever it began", begun, [stamp(at(0, 24 * i + (24 * i * 7 % 11) / 60)) for i in range(7)])
    t = listed(w, "--now", at(6, 23))
    eq("what is next", [t[k]["next_due"] for k in ("six", "odd", "week", "once")], [stamp(at(7)), stamp(at(0, 180)), stamp(at(7)), None])


def missed():
    """The machine was off for days: one turn for all that was missed, and on with the schedule."""
    site, w = Site(script=script({"/*": "x"})), World()
    target(w, "day", site.base + "/", every="1d")
    for when in (at(), at(4, 5), at(4, 6), at(5), at(5, 1)):
        eq(f"{when}: it ends well", due(w, when).code, 0)
    eq("one turn for four, then the next point", [(r["turn_at"], r["due_at"]) for r in w.sql("SELECT turn_at, due_at FROM crawls ORDER BY root_id")],
       [(stamp(a), stamp(b)) for a, b in ((at(), at()), (at(4, 5), at(4)), (at(5), at(5)))])
    target(w, "day", site.base + "/", every="8h")
    eq("another pace counts from the same point", listed(w, "--now", at(5, 2))["day"]["next_due"], stamp(at(5, 8)))


def set_back():
    site, w = Site(script=script({"/*": "x"})), World()
    target(w, "day", site.base + "/", every="1d")
    target(w, "once", site.base + "/once", every="none")
    for when, turns in ((at(), 2), (at(-365), 3), (at(-365, 23), 3), (at(-364), 4), (at(-364, -0.5), 5), (at(-363, -0.5), 6), (at(-363), 6)):
        eq(f"{when}: {turns} turns by now", (due(w, when).code, len(crawls(w))), (0, turns))
    eq("promoted by a clock that is ahead", w.tl("promote", site.base + "/ahead", "--as", "ahead", "--now", at(9)).code, 0)
    for when, turns in ((at(-363, 1), 7), (at(-363, 2), 7), (at(-362, 1), 9)):
        eq(f"{when}: {turns} turns by now", (due(w, when).code, len(crawls(w))), (0, turns))
    eq("the schedule is the new clock's", listed(w, "--now", at(-362, 2))["day"]["next_due"], stamp(at(-361, -0.5)))


def by_hand_first():
    """A crawl that somebody ran is the first turn; one that was interrupted goes on, and moves nothing."""
    site, w = Site(script="on /*\n  gate go\n  body x\n"), World()
    target(w, "day", site.base + "/", every="1d")
    site.open("go")
    eq("a turn", due(w, at()).code, 0)
    site.reset()
    child = w.start("run", "--due", "--now", at(1, 2))
    until("it asks", lambda: site.stats()["in_flight"] >= 1)
    child.signal_group(signal.SIGKILL)
    child.wait()
    site.open("go")
    eq("what was interrupted is due at once", listed(w, "--now", at(1, 3))["day"]["due"], True)
    eq("goes on", (due(w, at(1, 3)).code, len(crawls(w))), (0, 2))
    eq("and the next is due when it was to be", listed(w, "--now", at(1, 4))["day"]["next_due"], stamp(at(2)))


def last_week():
    bodies = [[page("/a", "/old"), page("/a", "/new")], ["one", "two"]]
    site = Site(script=script({"/": bodies[0], "/a": bodies[1], "/old": "o", "/new": "n"}))
    w = World()
    target(w, "lake", site.base + "/", every="7d")
    target(w, "other", site.base + "/a", every="7d")
    for day in (0, 7):
        eq(f"day {day}", due(w, at(day)).code, 0)
    roots = [r["root_id"] for r in w.sql("SELECT root_id FROM crawls WHERE crawl = 'lake' ORDER BY root_id")]
    wanted = {"added": [site.base + "/new"], "removed": [site.base + "/old"], "changed": [site.base + "/", site.base + "/a"]}

    def told(*words):
        r = w.tl("diff", "-o", "json", *words)
        d = json.loads(r.out) if r.code == 0 else {"code": r.code, "err": r.err}
        return {k: sorted(x["key"] for x in d[k]) for k in ("added", "removed", "changed")} if r.code == 0 else d
    eq("by their roots", told(*roots), wanted)
    eq("by its name: the last two", told("lake"), wanted)
    eq("with last week's", told("lake@7d", "--now", at(7, 1)), wanted)
    eq("on a day", told("lake@" + at(1), "lake@" + at(8)), wanted)
    eq("a name, a root", told("lake@7d", roots[1], "--now", at(7, 1)), wanted)
    eq("the drift is the same", [listed(w)["lake"][k] for k in ("added", "removed", "changed")], [1, 1, 2])
    r = w.tl("diff", "lake@8d", "--now", at(7, 1))
    ok("nothing is as old as that", r.code == 2 and "'lake' has no crawl" in r.err and at()[:10] in r.err, r)
    r = w.tl("diff", "lake@1h", "--now", at(7, 2))
    ok("nothing ran since", r.code == 2 and "the newest crawl of 'lake' is" in r.err, r)
    r = w.tl("diff", "nobody")
    ok("no such name", r.code == 2 and "'nobody'" in r.err, r)
    ok("no such time", w.tl("diff", "lake@soon").code == 2 and w.tl("diff", "lake@").code == 2)
    target(w, "fresh", site.base + "/a", every="none")
    eq("a first crawl", due(w, at(7, 1)).code, 0)
    r = w.tl("diff", "fresh")
    ok("has nothing to be compared with", r.code == 2 and "one crawl" in r.err, r)
    d = w.tl("diff", "--type", "http_page", "lake", "-o", "jsonl")
    ok("rows of types likewise", d.code == 0 and any(x["change"] == "added" and "/new" in x["key"] for x in d.lines()), d)


main(the_week, missed, set_back, by_hand_first, last_week)
