"""What MkDocs does for the site beyond its own means; mkdocs.yml names it.

The pages of docs/ are written for a forge, too, so they link to files as a forge shows them. Here

- README becomes the first page, and the other Markdown files at the root become pages;
- a link to a public header leads to its reference, one to any other file to a page that shows that file;
- a name of the interface that stands in a text as `code` links to its reference;
- a drawing stands in the page itself, so that it has the colours that the reader has chosen;
- a long name in `code` is broken where a reader would break it, and an option is not.

A link that leads nowhere stops the build, and so does a page that the navigation does not have.
"""
import functools
import html
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import links  # noqa: E402

TAGS = os.path.join(ROOT, "build/reference/colock.tag")
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".json": "json", ".sh": "bash", ".py": "python", ".cmake": "cmake",
             ".yml": "yaml", ".go": "go", ".java": "java"}

pages = {}  # of the repository's files that are pages: the page's path in the site
sources = {}  # of the pages that are made here: what they say
reference = {}  # of a name: where its reference is


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def page_that_shows(path):
    """The text of a page for a file or a folder of the repository."""
    if os.path.isdir(os.path.join(ROOT, path)):
        names = sorted(os.listdir(os.path.join(ROOT, path)))
        return f"# `{path}/`\n\nA folder of the repository, with\n\n" + "".join(f"- `{name}`\n" for name in names)
    text = text_of(path)
    fence = "`" * max([3] + [len(ticks) + 1 for ticks in re.findall("`{3,}", text)])
    language = LANGUAGES.get(os.path.splitext(path)[1], "cmake" if path.endswith("CMakeLists.txt") else "text")
    return f"# `{path}`\n\nA file of the repository.\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"


def repository_path(path, target):
    return os.path.normpath(os.path.join(os.path.dirname(path), target))


def is_outside(target):
    return not re.match(r"[a-z][a-z0-9+.-]*:", target) and not target.startswith("#")


def is_header(path):  # a public one
    return os.path.dirname(path) == "include/colock"


@functools.cache
def html_of(file):
    return text_of("build/reference/html/" + file)


def read_reference():
    """From Doxygen's list of names: full names, and shorter ones that can mean one thing only."""
    short = {}

    def add(name, url):
        reference.setdefault(name, url)
        reference.setdefault("colock::" + name, url)

    for compound in ElementTree.parse(TAGS).getroot():
        kind, name, file = compound.get("kind"), compound.findtext("name"), compound.findtext("filename")
        if kind == "file":
            reference["colock/" + name] = file
            continue
        scope = name.partition("colock::")[2]
        if kind in ("class", "struct"):
            add(scope, file)
        for member in compound.findall("member"):
            called = member.findtext("name")
            url = member.findtext("anchorfile") + "#" + member.findtext("anchor")
            add(f"{scope}::{called}" if scope else called, url)
            if scope and "_" in called:
                short.setdefault(called, set()).add(url)
            for value in member.findall("enumvalue"):
                has_place = f'id="{value.get("anchor")}"' in html_of(value.get("file"))  # where it is described
                place = f"{value.get('file')}#{value.get('anchor')}" if has_place else url
                add(f"{scope}::{called}::{value.text}" if scope else f"{called}::{value.text}", place)
    for called, urls in short.items():
        if len(urls) == 1 and called not in reference:
            reference[called] = urls.pop()


def on_config(config):
    read_reference()
    return config


def on_files(files, config):
    waiting = []
    for file in files.documentation_pages():
        pages["docs/" + file.src_path] = file.src_path
        waiting.append("docs/" + file.src_path)
    for name in sorted(os.listdir(ROOT)):
        if name.endswith(".md"):
            pages[name] = "index.md" if name == "README.md" else name
            sources[pages[name]] = text_of(name)
            waiting.append(name)
    for path in waiting:
        for _, target in links.targets_of(text_of(path)):
            other = repository_path(path, target.partition("#")[0])
            if not is_outside(target) or other in pages or other.startswith(("docs/", "..")) or is_header(other):
                continue
            if other.endswith(".md"):
                pages[other] = f"source/{other}"
                sources[pages[other]] = text_of(other)
                waiting.append(other)
            else:
                pages[other] = f"source/{other}" + ("/index.md" if os.path.isdir(os.path.join(ROOT, other)) else ".md")
                sources[pages[other]] = page_that_shows(other)
    for path in sources:
        files.append(File(path, config["docs_dir"], config["site_dir"], config["use_directory_urls"]))
    files.append(File("pages.css", os.path.dirname(__file__), config["site_dir"], False))
    return files


def on_nav(nav, config, files):
    waiting = list(nav.items)
    while waiting:
        item = waiting.pop()
        waiting += item.children or []
        if item.is_link:
            item.url = item.url.removeprefix("site:") # Doxygen makes it, not MkDocs
    known = {page.file.src_path for page in nav.pages}
    lost = [f.src_path for f in files.documentation_pages()
            if f.src_path not in known and not f.src_path.startswith("source/")]
    if lost:
        raise PluginError("the navigation in mkdocs.yml does not have " + ", ".join(lost))
    return nav


def on_page_read_source(page, config):
    return sources.get(page.file.src_path)


def on_page_markdown(markdown, page, config, files):
    page.title = page.title.replace("`", "")
    here = page.file.src_path
    path = {there: name for name, there in pages.items()}.get(here)
    if not path.endswith(".md"):
        return markdown

    def target_in_site(target):
        if not is_outside(target):
            return target
        file, hash_sign, anchor = target.partition("#")
        other = repository_path(path, file)
        if other in pages:
            return os.path.relpath(pages[other], os.path.dirname(here) or ".") + hash_sign + anchor
        if is_header(other):
            header = other[len("include/"):]
            if header not in reference:
                raise PluginError(f"{path}: {target}: there is no reference of this header")
            return "site:reference/" + reference[header]
        if other.startswith("docs/"):
            return os.path.relpath(other, os.path.join("docs", os.path.dirname(here))) + hash_sign + anchor
        raise PluginError(f"{path}: {target} leads out of the site")

    lines = markdown.split("\n")
    for number, line in links.prose(markdown):
        masked = links.without_code(line)
        for pattern in links.TARGETS:
            for found in reversed(list(pattern.finditer(masked))):
                line = line[:found.start(1)] + target_in_site(found[1]) + line[found.end(1):]
                masked = links.without_code(line)
        # A forge nests what is indented as far as the text of the item; MkDocs wants four blanks.
        indented = len(line) - len(line.lstrip(" "))
        lines[number - 1] = " " * (-(-indented // 4) * 4) + line.lstrip(" ")
    return "\n".join(lines)


def with_reference(text, to_reference):
    """Names of the interface in `code` become links, where no link is yet, and no heading."""
    out, inside = [], []
    for part in re.split(r"(<[^>]+>)", text):
        tag = re.match(r"<(/?)(a|pre|h[1-6]|code)\b", part)
        if tag and tag[1]:
            if tag[2] in inside:
                inside.remove(tag[2])
        elif tag:
            inside.append(tag[2])
        elif inside == ["code"]:
            name = html.unescape(part).strip()
            url = reference.get(name.removesuffix("()"))
            if url:
                part = f'<a class="reference" href="{to_reference}{url}">{part}</a>'
        out.append(part)
    return "".join(out)


def drawing(match, page):
    source = html.unescape(match["src"])
    path = os.path.normpath(os.path.join(os.path.dirname(page.file.url), source))
    svg = text_of("docs/" + path)
    return '<figure class="drawing">' + svg[svg.index("<svg"):] + "</figure>"


def on_page_content(content, page, config, files):
    root = get_relative_url(".", page.url)
    root = "" if root in (".", "./") else root.rstrip("/") + "/"
    if not page.file.src_path.startswith("source/"):
        content = with_reference(content, root + "reference/")
    content = content.replace('href="site:', f'href="{root}')
    return re.sub(r'<img [^>]*src="(?P<src>[^"]*diagrams/[^"]+\.svg)"[^>]*>', lambda m: drawing(m, page), content)


LONG = 32  # characters of code; more than that may be broken in the first column of a table
LONG_PART = 20  # characters between "::" and the like; more than that may be broken behind "_", too


def with_breaks(text):
    """Where `code` may be broken: behind what joins the parts of a name. Not in an option, such as --time-out."""
    out, inside = [], []
    for part in re.split(r"(<[^>]+>)", text):
        tag = re.match(r"<(/?)(pre|code|script|svg)\b", part)
        if tag and tag[1]:
            if tag[2] in inside:
                inside.remove(tag[2])
        elif tag:
            inside.append(tag[2])
        elif inside == ["code"] and not part.startswith("<"):
            if len(html.unescape(part)) > LONG and "<code>" in out[-3:]:  # a link's tag may stand between
                out[-1 - out[::-1].index("<code>")] = '<code class="long">'
            part = re.sub(rf"\w{{{LONG_PART},}}", lambda m: re.sub(r"(?<=\w)_(?=\w)", "_<wbr>", m[0]), part)
            part = re.sub(r"(?<=\w)(::|\(\)\.|[./(=])(?=\w)", r"\1<wbr>", part)
            part = re.sub(r"(?<![^\s(])-{1,2}\w[\w-]*", r'<span class="option">\g<0></span>', part)
        out.append(part)
    return "".join(out)


def on_post_page(output, page, config):
    """Last of all, so that the search finds whole names."""
    begin, end = output.find("<article"), output.find("</article>")
    return output[:begin] + with_breaks(output[begin:end]) + output[end:]
