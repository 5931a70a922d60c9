"""github_hub.py - what the tests of the GitHub collector share: a world with an API, its crawls, its entities."""
from github_api import *
from lib import *


class Hub(World):
    """A world with an API: the origin's secrets, a crawl of one line or more, entities by URN."""

    def __init__(self, table=None, config="", tokens=(), plugins=("github",), **more):
        self.api = Api(table)
        secrets = "".join(f"  {t}: {{env: TOKEN_{t}, origins: [\"{self.api.origin}\"]}}\n" for t in tokens)
        super().__init__(plugins=plugins, config=config + ("secrets:\n" + secrets if tokens else ""), **more)
        self.env.update({f"TOKEN_{t}": f"value-of-{t}" for t in tokens})

    def line(self, path=None, **args):
        if path:
            args["url"] = self.api.base + path
        return {"collector": "github", "args": args}

    def go(self, *lines, leash="{depth: 8}", name="hub", options=(), **more):
        c = self.crawl(name, *lines, leash=leash, **more)
        return self.tl("run", c, *options)

    def docs(self, root=None, dataset=None):
        """(dataset, document) of every document of the collector, oldest first."""
        return [(d.d["datasets"][0], d) for d in sorted(self.documents(root), key=lambda d: d.d["started_at"])
                if d.collector == "github" and d.d["datasets"] and dataset in (None, d.d["datasets"][0]["name"])]

    def entities(self, root=None):
        """{URN: `_metadata`} of every entity of every document; the newest wins."""
        found = {}
        for data, _ in self.docs(root):
            for m in [data.get("_metadata") or {}, *(data.get("_entities") or [])]:
                if "self" in m.get("links", {}):
                    found[m["links"]["self"]["href"]] = m
        return found

    def links(self, urn):
        """{name: href or hrefs} of an entity."""
        links = self.entities().get(urn, {}).get("links", {})
        return {k: v["hrefs"] if "hrefs" in v else v["href"] for k, v in links.items()}

    def children(self, root, urn):
        """What the run of this entity's document asked for: the paths, without the size of pages."""
        run = next(d.run_id for data, d in self.docs(root) if urn in json.dumps(data.get("_metadata", {}).get("links", {}).get("self", "")))
        return sorted(self.short(r["url"]) for r in self.sql("SELECT url FROM runs WHERE parent_id = ?", run))

    def short(self, url):
        return url.replace(self.api.base, "").replace("&per_page=100", "").replace("?per_page=100", "")


def ends_well(w, what, r, code=0):
    eq(f"{what}: exit {code}", (r.code, r.err if r.code != code else ""), (code, ""))
    if r.root and code in (0, 5):
        none(f"{what}: lake and catalog agree", w.faults(r.root))
