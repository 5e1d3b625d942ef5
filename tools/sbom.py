#!/usr/bin/env python3
"""What colock was built with, as SPDX 2.3.

    tools/sbom.py VERSION URL ARCHIVE SECONDS <FOUND

ARCHIVE is that of the sources, SECONDS their time since 1970. Each line of FOUND is a Debian package, its version, and the
source that it comes from.
"""
import datetime
import hashlib
import json
import sys

TOOLS = {"cmake", "debhelper", "g++"}


def package(name, version, location):
    return {
        "SPDXID": "SPDXRef-" + name.replace("+", "plus").replace("_", "-"),
        "name": name,
        "versionInfo": version,
        "downloadLocation": location,
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
    }


def main():
    version, url, archive, seconds = sys.argv[1:]
    with open(archive, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    colock = package("colock", version, url)
    colock |= {
        "licenseConcluded": "BSL-1.0",
        "licenseDeclared": "BSL-1.0",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
    }
    packages = [colock]
    relationships = [("SPDXRef-DOCUMENT", "DESCRIBES", colock["SPDXID"])]
    for line in sorted(set(sys.stdin)):
        name, found, source = line.split()
        other = package(name, found, "NOASSERTION")
        other["externalRefs"] = [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{name.replace('+', '%2B')}@{found}",
        }]
        other["sourceInfo"] = f"Debian's source package {source}"
        packages.append(other)
        relationships.append((other["SPDXID"], "BUILD_TOOL_OF" if name in TOOLS else "BUILD_DEPENDENCY_OF",
                              colock["SPDXID"]))
    made = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc)
    json.dump({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"colock-{version}",
        "documentNamespace": f"{url}.spdx/{digest}",
        "creationInfo": {
            "created": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: tools/sbom.py"],
        },
        "packages": packages,
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relationships
        ],
    }, sys.stdout, indent=2)
    print()


main()
