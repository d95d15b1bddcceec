"""``torch.utils.tensorboard``: `SummaryWriter`, on the library tensorboardX or tensorboard, whichever is installed."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import datetime
from typing import Any

from minitorch.core.dtype import bfloat16, float16, float32
from minitorch.core.pytree import tree_map
from minitorch.tensor.base import TensorBase

__all__ = ["SummaryWriter"]

_NEITHER = (
    "SummaryWriter needs the library tensorboardX or tensorboard, and neither is installed: pip install tensorboardX "
    "(all methods), or tensorboard (scalars)"
)
# What tensorboardX writes; the tensors among the arguments become arrays.
_METHODS = frozenset(
    (
        "add_audio", "add_custom_scalars", "add_custom_scalars_marginchart", "add_custom_scalars_multilinechart", "add_embedding",
        "add_figure", "add_histogram", "add_histogram_raw", "add_hparams", "add_image", "add_image_with_boxes", "add_images",
        "add_mesh", "add_pr_curve", "add_pr_curve_raw", "add_scalar", "add_scalars", "add_text", "add_video", "close",
        "export_scalars_to_json", "flush",
    )
)  # fmt: skip


class SummaryWriter:
    """Writes what TensorBoard shows into files in a folder: ``add_scalar``, ``add_histogram``, ``add_image``, ``add_text``, ...

    The methods are those of ``tensorboardX.SummaryWriter``, which are PyTorch's, and take tensors. With the library
    tensorboard alone there are ``add_scalar``, ``add_scalars``, ``flush`` and ``close``.

    Parameters
    ----------
    log_dir : str, optional
        The folder; by default a new one in ``runs``, named after the time and this machine.
    comment : str
        The end of the name of such a new folder.
    purge_step : int, optional
        Steps from here on that were written before are dropped: this run goes on from a crash.
    max_queue, flush_secs : int
        After how many events, and how many seconds, events are written out.
    filename_suffix : str
        The end of the files' names.

    Raises
    ------
    ImportError
        If neither library is installed.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ):
        try:
            import tensorboardX as library  # pyright: ignore
        except ImportError:
            if purge_step is not None or filename_suffix:
                raise ImportError(
                    "SummaryWriter: purge_step and filename_suffix need tensorboardX: pip install tensorboardX"
                ) from None
            self._writer: Any = _ScalarWriter(_folder(log_dir, comment))
        else:
            self._writer = library.SummaryWriter(
                log_dir if log_dir is None else str(log_dir), comment=comment, purge_step=purge_step, max_queue=max_queue,
                flush_secs=flush_secs, filename_suffix=filename_suffix,
            )  # fmt: skip

    @property
    def log_dir(self) -> str:
        """The folder."""
        return self._writer.logdir

    def get_logdir(self) -> str:
        """Return the folder."""
        return self.log_dir

    def add_tensor(self, tag: str, tensor: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Refuse: tensorboardX writes no tensors as such.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("SummaryWriter.add_tensor: use add_histogram, add_image or add_text")

    def add_graph(self, model: Any, *args: Any, **kwargs: Any) -> None:
        """Refuse: graphs are not written.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(
            "SummaryWriter.add_graph: graphs are not written; minitorch.viz.autograd_graph and fx_graph draw them, "
            "minitorch.summary lists modules"
        )

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(f"'SummaryWriter' object has no attribute {name!r}")
        method = getattr(self._writer, name, None)
        if method is None:
            raise NotImplementedError(f"SummaryWriter.{name}: {self._writer.reason}")
        return _with_arrays(method)

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self._writer.close()


def _with_arrays(method: Callable) -> Callable:
    def call(*args: Any, **kwargs: Any) -> Any:
        return method(
            *[tree_map(_array, value) for value in args], **{k: tree_map(_array, v) for k, v in kwargs.items()}
        )

    return call


def _array(value: Any) -> Any:
    """Return a tensor as an array that the library understands; anything else as it is."""
    if not isinstance(value, TensorBase):
        return value
    tensor: Any = value.detach().cpu()  # type: ignore[attr-defined]
    if tensor.dtype in (bfloat16, float16):
        tensor = tensor.to(float32)
    return tensor.resolve_conj().resolve_neg().numpy()


def _folder(log_dir: Any, comment: str) -> str:
    """Return the folder that was named, or a new one in ``runs``."""
    if log_dir is not None:
        return str(log_dir)
    return os.path.join("runs", f"{datetime.now():%b%d_%H-%M-%S}_{socket.gethostname()}{comment}")


class _ScalarWriter:
    """What the library tensorboard can write without TensorFlow: scalars."""

    reason = "the library tensorboard alone writes scalars only: pip install tensorboardX"

    def __init__(self, logdir: str):
        try:
            from tensorboard import summary  # pyright: ignore
        except ImportError as error:
            raise ImportError(_NEITHER) from error
        self._library = summary
        self.logdir = logdir
        self._writers: dict[str, Any] = {}

    def _writer(self, folder: str) -> Any:
        if folder not in self._writers:
            self._writers[folder] = self._library.Writer(folder)
        return self._writers[folder]

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        self._add(self.logdir, tag, scalar_value, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        # As tensorboardX: each in a folder of its own, so that they share a plot.
        for tag, value in tag_scalar_dict.items():
            self._add(f"{self.logdir}/{main_tag.replace('/', '_')}_{tag}", main_tag, value, global_step, walltime)

    def _add(self, folder: str, tag: str, value: Any, step: int | None, walltime: float | None) -> None:
        self._writer(folder).add_scalar(tag, float(value), 0 if step is None else step, wall_time=walltime)

    def flush(self) -> None:
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()
