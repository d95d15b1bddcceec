"""`spawn`: one function in several processes, whose failures are the caller's."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any


class ProcessException(Exception):
    """A process has failed.

    Attributes
    ----------
    msg : str
    error_index, error_pid : int
        The number that its function got, and its process id.
    """

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised an exception; `msg` has its traceback."""


class ProcessExitedException(ProcessException):
    """The process ended by a signal, or with an exit code that is not 0.

    Attributes
    ----------
    exit_code : int
    signal_name : str or None
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(fn: Callable, index: int, args: tuple, errors: Any) -> None:
    """Call the function in its process; send the traceback of what it raises."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent got it too
    except Exception:
        errors.send(traceback.format_exc())
        raise SystemExit(1) from None


class ProcessContext:
    """Processes that run one function; made by `start_processes`.

    Attributes
    ----------
    processes : list of Process
    sentinels : dict
        From what becomes ready when a process ends to its number.
    """

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes = processes
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}
        self._errors = errors

    def pids(self) -> list[int]:
        """Return the process ids."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends; return whether all have.

        Where one has failed the others are ended.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most.
        grace_period : float, optional
            Seconds that the others have, once they are told to end, before they are killed; 30 if left out.

        Raises
        ------
        ProcessRaisedException
            If the function raised an exception.
        ProcessExitedException
            If the process ended otherwise, without success.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(list(self.sentinels), timeout):
            index = self.sentinels.pop(sentinel)  # type: ignore[call-overload]
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        self._end(30.0 if grace_period is None else grace_period)
        self._raise(failed)
        return False

    def _end(self, seconds: float) -> None:
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def _raise(self, index: int) -> None:
        process, errors = self.processes[index], self._errors[index]
        code, pid = process.exitcode, process.pid
        try:
            text = errors.recv() if errors.poll() else None
        except EOFError:
            text = None
        if text is not None:
            message = f"\n\n-- Process {index} terminated with the following error:\n{text}"
            raise ProcessRaisedException(message, index, pid)
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            raise ProcessExitedException(f"process {index} terminated with signal {name}", index, pid, code, name)
        raise ProcessExitedException(f"process {index} terminated with exit code {code}", index, pid, code)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable, args: tuple = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> ProcessContext | None:
    """Run ``fn(i, *args)`` in `nprocs` processes, i from 0.

    Parameters
    ----------
    fn : callable
        With ``spawn``, one of a module's top level.
    args : tuple
    nprocs : int
    join : bool
        Whether to wait until all have ended.
    daemon : bool
        Whether they end with this process.
    start_method : {"spawn", "fork", "forkserver"}

    Returns
    -------
    ProcessContext or None
        None if joined.

    Raises
    ------
    ProcessRaisedException, ProcessExitedException
        If joined and one fails; the others are ended then.
    """
    context = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for index in range(nprocs):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, index, args, sender), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        sender.close()
        processes.append(process)
        errors.append(receiver)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable, args: tuple = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> ProcessContext | None:
    """Run ``fn(i, *args)`` in `nprocs` new processes; arguments and errors are those of `start_processes`."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
