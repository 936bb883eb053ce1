"""The command that installs an extra names where glassformer came from."""

import json
from pathlib import Path

import pytest

from glassformer.data.installed import pip_install


def distribution(site: Path, name: str, *, url: str | None = None, **about: object) -> None:
    folder = site / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    if url is not None:
        (folder / "direct_url.json").write_text(json.dumps({"url": url, **about}))


@pytest.mark.parametrize(("url", "about", "said"), [
    (None, {}, "pip install 'glassformer[serve]'"),
    ("{}", {"dir_info": {"editable": True}}, "pip install -e '{}[serve]'"),
    ("{}", {"dir_info": {}}, "pip install '{}[serve]'"),
    ("{}/gone.whl", {"archive_info": {}}, "pip install 'glassformer[serve]'"),
    ("https://host/glassformer.whl", {"archive_info": {}}, "pip install 'glassformer[serve]'"),
])  # fmt: skip
def test_an_extra_comes_from_where_glassformer_came(
    url: str | None, about: dict[str, object], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "my clone"
    clone.mkdir()
    distribution(tmp_path / "site", "glassformer", url=url and url.replace("{}", clone.as_uri()), **about)
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert pip_install("serve") == said.format(clone)


@pytest.mark.parametrize(("extra", "said"), [
    ("onnx", "pip install {}"), ("tables", "pip install '{}[tables]'"), ("ray", "pip install 'glassformer[ray]'"),
])  # fmt: skip
def test_light_gives_its_own_extras(extra: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution(tmp_path / "site", "glassformer")
    distribution(tmp_path / "site", "glassformer-light", url=tmp_path.as_uri(), dir_info={})
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert pip_install(extra) == said.format(tmp_path)
