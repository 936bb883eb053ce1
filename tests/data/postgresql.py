"""A PostgreSQL server of a test's own, from the binaries of the distribution."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

USER, PASSWORD = "reader", "s3cret pässwörd"
TYPED = "s3cret%20p%C3%A4ssw%C3%B6rd"
"""The password as it stands in an address."""


@dataclass(frozen=True)
class Server:
    """A server whose only user has a password."""

    port: int

    @property
    def address(self) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"

    @property
    def with_password(self) -> str:
        return self.address.replace("@", f":{TYPED}@")

    def run(self, *statements: str) -> None:
        import psycopg

        login: dict[str, Any] = {"user": USER, "password": PASSWORD, "dbname": "postgres"}
        with psycopg.connect(host="127.0.0.1", port=self.port, **login) as connection:
            for statement in statements:
                connection.execute(statement.encode())


def _binaries() -> Path | None:
    found = [*sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")), shutil.which("initdb")]
    return next((Path(path).resolve().parent for path in reversed(found) if path), None)


@pytest.fixture
def postgresql(postgresql_server: Server) -> Server:
    """A server without tables."""
    postgresql_server.run("DROP SCHEMA IF EXISTS old CASCADE", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    return postgresql_server


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Server]:
    """Start a server. It runs as another user if the tests run as root, which it refuses."""
    pytest.importorskip("psycopg")
    binaries = _binaries()
    if binaries is None:
        pytest.skip("there is no PostgreSQL server: apt-get install postgresql")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, socket.socket() as free:
        folder = Path(name)
        password = folder / "password"
        password.write_text(PASSWORD, encoding="utf-8")
        as_user: list[str] = []
        if os.getuid() == 0:
            nobody = 65534
            for path in (folder, password):
                os.chown(path, nobody, nobody)
            as_user = ["setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups"]
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()

        def run(program: str, *arguments: str) -> None:
            command = [*as_user, str(binaries / program), "-D", str(folder / "data"), *arguments]
            done = subprocess.run(command, cwd="/", capture_output=True, timeout=60, check=False)
            assert done.returncode == 0, done.stderr.decode()

        login = ("-A", "scram-sha-256", "-U", USER, f"--pwfile={password}", "--encoding=UTF8", "--locale=C")
        run("initdb", *login, "--no-sync")
        options = f"-c fsync=off -c listen_addresses=127.0.0.1 -p {port} -k {folder}"
        run("pg_ctl", "start", "-w", "-o", options, "-l", str(folder / "log"))
        try:
            yield Server(port)
        finally:
            run("pg_ctl", "stop", "-m", "immediate")
