"""The engine that answers shards with Ray, on the cores of this machine or of a cluster.

Each shard is a task of one core. A worker loads the model once, and answers one shard after another with one thread.
Only paths and counts go through Ray. Ray gives the shard of a lost worker to another one.
"""

import os
import secrets
import socket
from collections.abc import Generator, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from glassformer.data.installed import pip_install
from glassformer.data.stopping import kept_signals
from glassformer.errors import GlassformerError, UsageError, words_of
from glassformer.prediction.load_answering import load_once
from glassformer.prediction.shards import Encodings, Engine, Job, OnRows, Outcome, Unanswered, answer_shard

RETRIES = 3
_PATIENCE = 10.0  # seconds, for a connection
_OBJECT_STORE_BYTES = 80 << 20  # about the least that Ray allows; no rows go through it
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # without it Ray warns of a later version
}
_ON_THIS_MACHINE = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # as on those two systems, Ray then listens on loopback alone
    "RAY_AUTH_MODE": "token",  # no other user of this machine can give work to our workers
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
}
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}


def on_ray(*, address: str | None = None, workers: int | None = None) -> Engine:
    """Return the engine. Ray is imported at once, and started when the engine is first asked for an outcome.

    Args:
        address: of a cluster. Without one, Ray is started on this machine, and ended with the work. The machines of a
            cluster need glassformer, and the folders under the same paths.
        workers: how many shards are in work at once. Default: one for each core of the machine or cluster.

    Raises:
        UsageError: Ray is not installed, or nothing answers at the address.
    """
    if address:
        _check_answers(address)
    os.environ.update(_QUIET if address else _QUIET | _ON_THIS_MACHINE)
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise UsageError(f"the engine ray needs Ray, which is not installed: {pip_install('ray')}") from error

    def answered(job: Job, shards: Encodings, _: OnRows) -> Generator[Outcome, None, None]:
        # A worker may stand in another folder.
        job = replace(job, model=job.model.absolute(), out=job.out.absolute())
        with _connected(ray, address, workers):
            yield from _answered(ray, job, shards, workers)

    return answered


def _answered(ray: Any, job: Job, shards: Encodings, workers: int | None) -> Generator[Outcome, None, None]:
    """Yield the outcomes as they come. Only as many shards are given to Ray as can be in work."""
    answer = ray.remote(num_cpus=1, num_gpus=int(job.device == "cuda"), max_retries=RETRIES)(_answer)
    # The largest first: then no large one is left for a single worker at the end.
    waiting = sorted(shards, key=lambda shard: shard.stat().st_size)
    running: dict[Any, Path] = {}
    while waiting or running:
        at_once = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))  # a cluster may grow
        while waiting and len(running) < at_once:
            shard = waiting.pop()
            running[answer.remote(job, shard.absolute(), shards[shard])] = shard
        done, _ = ray.wait(list(running), num_returns=1)
        for task in done:
            yield _outcome(ray, task, running.pop(task))


def _outcome(ray: Any, task: Any, shard: Path) -> Outcome:
    try:
        outcome: Outcome = ray.get(task)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, GlassformerError):
            raise error.cause from None
        raise
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError):
        return Unanswered(
            shard=shard.name,
            error=GlassformerError(
                f"{RETRIES + 1} workers were lost over it; if memory is short, use fewer `workers=` or smaller shards"
            ),
        )
    except ray.exceptions.RayError as error:
        raise GlassformerError(f"Ray failed: {words_of(error)}") from error
    return outcome


def _answer(job: Job, shard: Path, encoding: str | None) -> Outcome:
    return answer_shard(load_once(job.model, job.device), job, shard, encoding, lambda _: None)


@contextmanager
def _connected(ray: Any, address: str | None, workers: int | None) -> Iterator[None]:
    """Connect to a cluster, or start Ray on this machine without its dashboard.

    Raises:
        UsageError: no cluster answers.
        GlassformerError: Ray does not start.
    """
    quiet = {"log_to_driver": False, "logging_level": "CRITICAL", "include_dashboard": None if address else False}
    with _silent(), TemporaryDirectory(prefix="ray-", dir=_short_folder(), ignore_cleanup_errors=True) as place:
        try:
            with kept_signals(), _environment(_ONE_THREAD):
                if address:
                    ray.init(address, **quiet)
                else:
                    ray.init(
                        "local",
                        num_cpus=workers,
                        object_store_memory=_OBJECT_STORE_BYTES,
                        _temp_dir=f"{place}/r",  # Ray lets everyone write into its folder, but nobody gets there
                        **quiet,
                    )
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            if address:
                raise UsageError(f"`address={address}`: no Ray cluster can be used there: {words_of(error)}") from error
            raise GlassformerError(f"Ray does not start: {words_of(error)}") from error
        try:
            yield
        finally:
            ray.shutdown()


def _check_answers(address: str) -> None:
    """Raise `UsageError` if nothing answers at an address. Ray itself would try for many minutes."""
    if address == "auto":  # Ray knows whether it was started on this machine
        return
    try:
        place = urlsplit(address if "://" in address else f"ray://{address}")
        if place.hostname is None or place.port is None:
            raise ValueError("it has no port")
    except ValueError as error:
        raise UsageError(f"`address={address}` is not HOST:PORT ({error}); for example 192.0.2.7:6379") from error
    try:
        socket.create_connection((place.hostname, place.port), timeout=_PATIENCE).close()
    except OSError as error:
        raise UsageError(
            f"`address={address}`: nothing answers there ({error.strerror or error}); `ray status` on the head of "
            "the cluster shows its address"
        ) from error


def _short_folder() -> str | None:
    """Return where Ray keeps its files: the path of a socket has 107 characters at most. None: the usual folder."""
    return "/tmp" if Path("/tmp").is_dir() else None


@contextmanager
def _silent() -> Iterator[None]:
    """Drop what is written to standard output. Ray reports lost workers there, and has no setting against it."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        yield


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables for the processes that are started inside."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
