"""``torch.hub`` without the network: models from a folder with a ``hubconf.py``, and weights from files that are there.

What PyTorch would fetch is refused with what to do instead.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname

from minitorch.serialization import load as load_file

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_list = list
_directory: str | None = None


def get_dir() -> str:
    """Return the folder in which weights are looked for: as `set_dir` said, ``$TORCH_HOME/hub``, or ``~/.cache/torch/hub``."""
    if _directory is not None:
        return _directory
    cache = os.environ.get("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    home = os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))
    return os.path.join(home, "hub")


def set_dir(d: Any) -> None:
    """Look for weights in the folder `d`."""
    global _directory
    _directory = os.path.expanduser(os.fspath(d))


def _entry_points(repo_or_dir: Any, source: str, what: str) -> Any:
    """Return the module ``hubconf.py`` of a folder, imported.

    Raises
    ------
    ValueError
        If there is no such source.
    RuntimeError
        For what is on the network.
    FileNotFoundError
        If the folder has no ``hubconf.py``.
    """
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise RuntimeError(
            f"hub.{what}: {repo_or_dir} is not fetched: minitorch does not use the network. Clone the repository, and pass its "
            'folder with source="local"'
        )
    folder = os.path.abspath(os.path.expanduser(os.fspath(repo_or_dir)))
    path = os.path.join(folder, "hubconf.py")
    if not os.path.exists(path):
        raise FileNotFoundError(f"hub.{what}: {folder} has no hubconf.py, which names the models of a repository")
    spec = spec_from_file_location("hubconf", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.path.insert(0, folder)  # a hubconf imports its neighbours
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    missing = [name for name in getattr(module, "dependencies", ()) if not _is_importable(name)]
    if missing:
        raise RuntimeError(f"hub.{what}: {folder} needs packages that are not installed: {', '.join(missing)}")
    return module


def _is_importable(name: str) -> bool:
    from importlib.util import find_spec

    # Repositories that say they need torch run on this library in its place.
    return name == "torch" or find_spec(name) is not None


def _entry_point(module: Any, name: Any, what: str) -> Callable:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = getattr(module, name, None)
    if not callable(found):
        raise RuntimeError(
            f"Cannot find callable {name} in hubconf (hub.{what}); there are: {', '.join(_names(module)) or 'none'}"
        )
    return found


def _names(module: Any) -> _list[str]:
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def list(github: Any, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None, verbose: bool = True, *,
         source: str = "github") -> _list[str]:  # fmt: skip
    """Return the names of the models of a repository; of a folder with ``source="local"``.

    Raises
    ------
    RuntimeError
        For what is on the network.
    """
    return _names(_entry_points(github, source, "list"))


def help(github: Any, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None, *,
         source: str = "github") -> str | None:  # fmt: skip
    """Return the docstring of a model of a repository; of a folder with ``source="local"``.

    Raises
    ------
    RuntimeError
        For what is on the network, and models that are not there.
    """
    return _entry_point(_entry_points(github, source, "help"), model, "help").__doc__


def load(
    repo_or_dir: Any,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Return what the function `model` in a folder's ``hubconf.py`` returns, called with the further arguments.

    Parameters
    ----------
    source : str
        ``"local"``; repositories on GitHub are refused.

    Raises
    ------
    RuntimeError
        For what is on the network, and models that are not there.
    FileNotFoundError
        If the folder has no ``hubconf.py``.
    """
    return _entry_point(_entry_points(repo_or_dir, source, "load"), model, "load")(*args, **kwargs)


def _local_path(url: str) -> str | None:
    parts = urlparse(url)
    return url2pathname(unquote(parts.path)) if parts.scheme == "file" else None


def download_url_to_file(url: str, dst: Any, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Copy the file of a ``file://`` URL to `dst`.

    Raises
    ------
    RuntimeError
        If the URL is on the network, or the file's SHA-256 does not begin with `hash_prefix`.
    """
    path = _local_path(url)
    if path is None:
        raise RuntimeError(
            f"download_url_to_file: {url} is not fetched: minitorch does not use the network. Download it with another program "
            f"to {os.fspath(dst)}"
        )
    if hash_prefix is not None:
        found = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        if not found.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
    shutil.copyfile(path, dst)


def load_state_dict_from_url(
    url: str,
    model_dir: Any = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """Return what a file of weights holds that is in the folder of weights already, or behind a ``file://`` URL.

    Parameters
    ----------
    model_dir : path, optional
        The folder of weights; by default ``checkpoints`` in `get_dir`.
    file_name : str, optional
        The file's name there; by default the URL's last part.

    Raises
    ------
    RuntimeError
        If the file is not there: where to put it.
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else os.fspath(model_dir)
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        path = _local_path(url) or path
    if not os.path.exists(path):
        raise RuntimeError(
            f"load_state_dict_from_url: {url} is not fetched: minitorch does not use the network. Download it with another "
            f"program to {path}, and call again"
        )
    return load_file(path, map_location=map_location, weights_only=weights_only)
