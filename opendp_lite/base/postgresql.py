"""Connections to a PostgreSQL server."""

from __future__ import annotations

import os
import re
from ipaddress import ip_address
from typing import Any, Final

from opendp_lite.base.errors import ParameterError

# Seconds without a word after which the system asks whether the server is still there.
_IDLE: Final = 30
_HOSTS: Final = ("host", "hostaddr")
_HOST: Final = r"(?:\[[^]@/?#]*\]|[^][:@/?#,]*)(?::\d*)?"
# Nothing but a port stands behind a host: what is typed there otherwise may be a password.
URL: Final = re.compile(
    r"(postgres(?:ql)?://)(?:([^:@/?#]*)(?::([^@/?#]*))?@)?"
    rf"({_HOST}(?:,{_HOST})*(?:[/?][^@]*)?)"
)
"""Its scheme, user, password, and the rest."""
ESCAPES: Final = "@ as %40, / as %2F, : as %3A, ? as %3F and # as %23"
"""How a password is written there."""


def connect(library: Any, path: str, wait: float, password: str | None = None) -> Any:
    """A new connection of psycopg. The network must say within a minute that a server is gone.

    Args:
        library: The module ``psycopg``.
        path: A URL, or what libpq takes in its place.
        wait: Seconds to wait for the server.
        password: Where it does not stand there.

    Raises:
        ParameterError: If it does not say here which server it is.
    """
    given = library.conninfo.conninfo_to_dict(path)
    if "service" in given or "PGSERVICE" in os.environ:
        raise ParameterError(
            "a service of libpq does not say here which server it is, and so not whether the "
            "connection has to be encrypted; name the server in the URL, and unset PGSERVICE"
        )
    named = (given.get(each) or os.environ.get(f"PG{each.upper()}") for each in _HOSTS)
    hosts = ",".join(str(each) for each in named if each).split(",")
    said = "sslmode" in given or "PGSSLMODE" in os.environ
    return library.connect(
        path,
        password=password,
        sslmode="require" if not said and any(map(_is_remote, hosts)) else None,
        autocommit=True,
        # Behind a pooler the next transaction may meet another session.
        prepare_threshold=None,
        client_encoding="utf8",
        application_name="opendp_lite",
        connect_timeout=max(2, int(wait)),
        keepalives_idle=_IDLE,
        keepalives_interval=_IDLE // 3,
        keepalives_count=3,
        tcp_user_timeout=2000 * _IDLE,
    )


def _is_remote(host: str) -> bool:
    """Whether a host, by its name, its address or the folder of its socket, is another machine."""
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host not in ("", "localhost") and not host.startswith(("/", "@"))
