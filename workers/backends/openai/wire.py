"""The socket: requests for connecting, TLS, proxies and headers; the body is read from the socket itself.

Three things need the socket in hand. A cancelled request must be closed now, from another thread, so that the server sees it and a
blocked read comes back. One read should give all that has arrived, however many chunks the server made of it. And a connection
reset must be told from a clean end. So our connection classes note their socket, and after the headers we take over.

The one thing that surprises: what urllib3 has read beyond the headers sits in the response's buffer. It is taken from there with
the socket switched to non-blocking for that one look.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError, LocationParseError, NameResolutionError, ProtocolError

from workers.backends.openai.framing import Dechunker, FramingError, Inflater, Measured, Transfer, Unending, inflater
from workers.backends.openai.request import is_loopback, shown_url

__all__ = ["Broken", "Line", "Reply"]

READ_BYTES = 1 << 16
QUICK_PER_S = 700.0
NAP_S = 0.002
"""A stream of more events a second than this is read every two milliseconds: waking for an event costs ten times what reading it does
(60 us against 5), no clock of ours and no eye is that fast, and a model of ordinary speed is read as it writes."""
_LINGER_S = 0.02
"""How long the end of a finished body is waited for, to use the connection again."""
_here = threading.local()


class Broken(Exception):
    """A request failed on its way. `kind` is one of docs/models.md; `again` says whether another try makes sense."""

    def __init__(self, kind: str, why: str, *, again: bool = False) -> None:
        super().__init__(why)
        self.kind = kind
        self.again = again


class Hold:
    """The socket of one request, so that another thread can cut it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.socket: socket.socket | None = None
        self.cut = False
        self.late = False
        """Whether the headers did not come in time."""

    def note(self, sock: socket.socket | None) -> None:
        with self._lock:
            self.socket = sock
            if self.cut or self.late:
                self._shut()

    def expire(self) -> None:
        """Close the connection of a request whose headers have no end; what waits for them comes back."""
        with self._lock:
            self.late = True
            self._shut()

    def cancel(self) -> None:
        """Close the connection; the server sees it, and a read that waits comes back."""
        with self._lock:
            self.cut = True
            self._shut()

    def _shut(self) -> None:
        if self.socket is not None:
            # Not the TLS socket's own shutdown: that one takes the session away from a thread that reads.
            with contextlib.suppress(OSError, ValueError):
                socket.socket.shutdown(self.socket, socket.SHUT_RDWR)


def _note(connection: Any) -> None:
    hold = getattr(_here, "hold", None)
    if hold is not None:
        hold.note(connection.sock)


class _Plain(HTTPConnection):
    def connect(self) -> None:
        super().connect()
        _note(self)

    def request(self, *args: Any, **kwargs: Any) -> None:
        # A connection that is used again has its socket already.
        _note(self)
        super().request(*args, **kwargs)


class _Tls(HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        _note(self)

    def request(self, *args: Any, **kwargs: Any) -> None:
        _note(self)
        super().request(*args, **kwargs)


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _Tls


_POOLS = {"http": _PlainPool, "https": _TlsPool}


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = _POOLS
        return manager


class Line:
    """The way to one server: connections that are kept, the proxies, the certificates. Shared by the streams of one backend."""

    def __init__(self, *, connect_s: float) -> None:
        self._connect_s = connect_s
        self._session = requests.Session()
        # What a .netrc says would take the place of our key, and a proxy is never right for loopback; so both are seen to here.
        self._session.trust_env = False
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, _Adapter(pool_maxsize=8, max_retries=0))

    def send(
        self, method: str, url: str, *, headers: dict[str, str], body: bytes | None, idle_s: float, hold: Hold, within_s: float | None = None
    ) -> Reply:
        """Send a request and return its reply once the headers are there. Raises Broken.

        `idle_s` limits one silence; `within_s` all of it, for a server that sends headers, or says that it goes on, for ever.
        """
        proxies = {} if is_loopback(url) else get_environ_proxies(url)
        bundle = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or os.environ.get("SSL_CERT_FILE")
        _here.hold = hold
        alarm = None if within_s is None else threading.Timer(within_s, hold.expire)
        if alarm is not None:
            alarm.daemon = True
            alarm.start()
        try:
            response = self._session.request(
                method,
                url,
                data=body,
                headers=headers,
                stream=True,
                timeout=(self._connect_s, idle_s),
                verify=bundle or True,
                proxies=proxies,
                allow_redirects=False,
            )
        except (requests.RequestException, HTTPError, OSError, ValueError) as error:
            if hold.late and not hold.cut:
                raise Broken("stalled", f"{shown_url(url)}: no answer began within {within_s:g} s") from None
            raise _broken(error, url, connect_s=self._connect_s, idle_s=idle_s) from None
        finally:
            _here.hold = None
            if alarm is not None:
                alarm.cancel()
        return Reply(response, hold)

    def close(self) -> None:
        self._session.close()


class Reply:
    """A reply whose headers have come. `read` gives pieces of its body."""

    def __init__(self, response: requests.Response, hold: Hold) -> None:
        self._response = response
        self._hold = hold
        self._raw: Any = response.raw
        self._http: Any = self._raw._fp
        self._socket = hold.socket
        self.status: int = response.status_code
        self.reason: str = response.reason or http.client.responses.get(response.status_code, "")
        self.headers: dict[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self._transfer = _transfer(self._http)
        self._packing: Inflater | None = None
        self._first: bytes | None = None
        self._timeout_s: float | None = None
        self._quick = False
        self._last = time.monotonic()
        self.ended = False
        """Whether the body came to its end."""

    def unpack(self) -> None:
        """Undo the body's compression while reading. Raises Broken for one that is not known."""
        try:
            self._packing = inflater(self.headers.get("content-encoding", ""))
        except FramingError as error:
            raise Broken("malformed", str(error)) from None

    def read(self, timeout_s: float) -> Iterable[bytes]:
        """Return what has come, after waiting at most `timeout_s` for it; nothing and `ended` at the end. Raises TimeoutError, Broken."""
        transfer = self._transfer
        if self.ended or transfer.done:
            self.ended = True
            return ()
        data = self._fetch(timeout_s)
        if not data:
            self.ended = True
            if not transfer.clean and self._http.fp is not None:
                raise Broken("truncated", "the connection was closed in the middle of the answer")
            return ()
        try:
            body = transfer.feed(data)
        except FramingError as error:
            raise Broken("malformed", str(error)) from None
        self.ended = transfer.done
        return (body,) if self._packing is None else self._unpacked(self._packing, body)

    def _unpacked(self, packing: Inflater, body: bytes) -> Iterator[bytes]:
        try:
            yield from packing.pieces(body)
        except FramingError as error:
            raise Broken("malformed", str(error)) from None

    def _fetch(self, timeout_s: float) -> bytes:
        sock = self._socket
        if sock is None or self._http.fp is None:
            # A body without bytes: http.client has let go of it already.
            return b""
        try:
            if self._first is None:
                self._first = self._leftover(sock)
                if self._first:
                    return self._first
            if timeout_s != self._timeout_s:
                sock.settimeout(timeout_s)
                self._timeout_s = timeout_s
            if self._quick:
                time.sleep(NAP_S)
            data = sock.recv(READ_BYTES)
            now = time.monotonic()
            # A full read means that more is waiting: no time for a nap.
            self._quick = len(data) < READ_BYTES and data.count(b"\n\n") > QUICK_PER_S * (now - self._last)
            self._last = now
            return data
        except TimeoutError:
            raise
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""
        except (OSError, ValueError) as error:
            raise Broken("connection", f"the connection broke ({_why(error)})") from None

    def _leftover(self, sock: socket.socket) -> bytes:
        """What came together with the headers."""
        sock.settimeout(0)
        try:
            size = len(self._http.fp.peek(1))
        except (BlockingIOError, ssl.SSLWantReadError):
            size = 0
        data: bytes = self._http.fp.read1(size) if size else b""
        return data

    def text(self, *, limit: int, timeout_s: float) -> str:
        """Return the beginning of the body as text, for a message; what cannot be read, or not in `timeout_s` seconds, is left out."""
        parts: list[bytes] = []
        size = 0
        until = time.monotonic() + timeout_s
        with contextlib.suppress(Broken, TimeoutError):
            self.unpack()
            while not self.ended and size < limit and (left := until - time.monotonic()) > 0:
                for piece in self.read(left):
                    parts.append(piece)
                    size += len(piece)
                    if size >= limit:
                        break
        return b"".join(parts)[:limit].decode("utf-8", "replace")

    def finish(self) -> None:
        """Let go: a connection whose body has ended is used again, any other is closed."""
        if not self.ended and not self._hold.cut:
            with contextlib.suppress(TimeoutError, Broken):
                for _ in self.read(_LINGER_S):
                    pass
        reusable = self.ended and not self._hold.cut and not isinstance(self._transfer, Unending) and not self._http.will_close
        self._hold.note(None)
        if reusable and self._socket is not None:
            # http.client takes its next request once it believes this body read.
            self._socket.settimeout(None)
            self._http.close()
            self._raw.release_conn()
        else:
            self._response.close()


def _transfer(response: Any) -> Transfer:
    """How the body of an `http.client.HTTPResponse` is delimited."""
    if getattr(response, "chunked", False):
        return Dechunker()
    length = getattr(response, "length", None)
    return Unending() if length is None else Measured(length)


def _why(error: BaseException) -> str:
    """The innermost reason an exception gives, in words."""
    seen: list[BaseException] = []
    waiting: list[Any] = [error]
    words = ""
    while waiting and len(seen) < 20:
        one = waiting.pop()
        if not isinstance(one, BaseException) or one in seen:
            continue
        seen.append(one)
        if isinstance(one, OSError) and one.strerror:
            words = one.strerror
        waiting += [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]
    return words or str(error).partition(": ")[2] or type(error).__name__


def _has(error: BaseException, kind: type[BaseException]) -> bool:
    """Whether an exception of this kind is among the reasons of another."""
    waiting: list[Any] = [error]
    for _ in range(30):
        if not waiting:
            return False
        one = waiting.pop()
        if isinstance(one, kind):
            return True
        if isinstance(one, BaseException):
            waiting += [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]
    return False


def _broken(error: BaseException, url: str, *, connect_s: float, idle_s: float) -> Broken:
    """What an exception of the request means, as a kind and a sentence with the URL."""
    shown = shown_url(url)

    def ask(kind: type[BaseException]) -> bool:
        return _has(error, kind)

    if isinstance(error, requests.exceptions.SSLError) or ask(ssl.SSLError):
        return Broken("tls", f"{shown}: no secure connection ({_why(error)}); is it http, or its certificate unknown (SSL_CERT_FILE)?")
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return Broken("connection", f"{shown}: no connection within {connect_s:g} s; is the server running and reachable?", again=True)
    if "handshake" in str(error):
        return Broken("tls", f"{shown}: no secure connection within {connect_s:g} s; is it an http URL?")
    if isinstance(error, requests.exceptions.ReadTimeout):
        return Broken("stalled", f"{shown}: no byte for {idle_s:g} s")
    if isinstance(error, requests.exceptions.ProxyError):
        return Broken("connection", f"{shown}: the proxy of the environment does not let it through ({_why(error)}); see NO_PROXY")
    if ask(NameResolutionError):
        return Broken("connection", f"{shown}: host not found; check the URL")
    if isinstance(error, requests.exceptions.InvalidURL | requests.exceptions.InvalidSchema | requests.exceptions.InvalidHeader | LocationParseError):
        return Broken("config", f"{shown}: cannot be asked ({_why(error)})")
    if ask(http.client.HTTPException) and not ask(http.client.RemoteDisconnected):
        return Broken("malformed", f"{shown}: answers, but not in HTTP; is it the right port?")
    if isinstance(error, requests.exceptions.ConnectionError | ProtocolError | OSError):
        return Broken("connection", f"{shown}: cannot be reached ({_why(error)}); is the server running?", again=True)
    return Broken("connection", f"{shown}: the request failed ({_why(error)})")
