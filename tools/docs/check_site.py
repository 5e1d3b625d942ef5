#!/usr/bin/env python3
"""Whether a folder of HTML is whole: each link leads to a file and a place that are there, and nothing is fetched from
elsewhere when a page is shown.

    check_site.py FOLDER
"""
import os
import re
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

FETCHED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"),
           ("object", "data")}


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links, self.fetched = set(), [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        for name in ("id", "name"):
            if name == "id" or tag == "a":
                self.ids.add(values.get(name))
        for name in ("href", "src", "data"):
            if values.get(name) is not None and (tag in ("a", "area") or (tag, name) in FETCHED):
                self.links.append(values[name])
                if tag not in ("a", "area") and values.get("rel") not in ("canonical", "prev", "next"):
                    self.fetched.append(values[name])


def main():
    root = sys.argv[1]
    pages, faults, links = {}, [], 0
    for folder, _, files in os.walk(root):
        for file in files:
            path = os.path.join(folder, file)
            if file.endswith(".html"):
                pages[path] = Page()
                with open(path, encoding="utf-8") as content:
                    pages[path].feed(content.read())
            elif file.endswith(".css"):
                with open(path, encoding="utf-8") as content:
                    for url in re.findall(r"url\(\s*['\"]?([^)'\"]+)|@import\s+['\"]([^'\"]+)", content.read()):
                        if re.match(r"(https?:)?//", url[0] or url[1]):
                            faults.append(f"{path} fetches {url[0] or url[1]}")
    for path, page in pages.items():
        faults += [f"{path} fetches {url}" for url in page.fetched if re.match(r"(https?:)?//", url)]
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link in ("", "#"):
                continue
            links += 1
            target = os.path.normpath(os.path.join(os.path.dirname(path), unquote(parts.path))) if parts.path else path
            if os.path.isdir(target):
                target = os.path.join(target, "index.html")
            if not os.path.exists(target):
                faults.append(f"{path}: {link}: there is no such file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                faults.append(f"{path}: {link}: there is no such place")
    if links < 1000:
        faults.append(f"only {links} links were found: is this check right?")
    for fault in sorted(set(faults)):
        print(fault)
    if faults:
        sys.exit(f"{len(set(faults))} fault(s) of the site")
    print(f"{len(pages)} pages, {links} links")


if __name__ == "__main__":
    main()
