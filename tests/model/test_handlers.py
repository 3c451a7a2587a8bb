"""Configurations of the handlers that come with Tocsin."""

import pytest

from tocsin.model.handlers import handler_errors
from tocsin.model.jobs import Handler
from tocsin.model.strict_json import JsonObject, JsonValue, dumps

URL = "https://billing.example/report"
NEEDED: dict[str, JsonObject] = {
    "kafka": {"topic": "reports"},
    "process": {"argv": ["/bin/true"]},
    "container": {"image": "alpine:3.20"},
    "kubernetes": {"image": "alpine:3.20"},
}
OAUTH2: JsonObject = {
    "token_url": "https://login.example/token",
    "client_id": "tocsin",
    "client_secret": "secret://client",
}


def errors_of(kind: str, config: JsonObject) -> set[tuple[str, str]]:
    """Pointer and keyword of each error."""
    found = handler_errors(Handler(type=kind, config=dumps(config)))
    return {(error.pointer, error.keyword) for error in found}


@pytest.mark.parametrize(
    "config",
    [
        {"url": URL},
        {"url": "http://127.0.0.1:8080", "method": "GET", "expect": [204, "200-299", "404"]},
        {
            "url": "http://[2001:db8::1]:9/x?y=%20#z",
            "headers": {"X-Kind": "daily\treport", "A": ""},
        },
        {"url": URL, "auth": {"bearer": "secret://billing-token"}, "payload_encoding": "base64"},
        {"url": URL, "auth": None},
        {"url": URL, "retry_on": [], "redirects": 0, "proxy": "secret://proxy"},
        {"url": URL, "retry_on": [409, "500-599", "network"], "proxy": "http://proxy.example:3128"},
        {"url": URL, "signing": {"secrets": ["secret://new", "secret://old"]}},
        {"url": URL, "tls": {"verify": False, "client_certificate": "secret://c"}},
        {"url": URL, "auth": {"oauth2": OAUTH2}, "headers": {"X-Key": "secret://key"}},
        {"url": URL, "auth": {"basic": {"username": "u", "password": "secret://p"}}},
    ],
)
def test_http_takes_what_the_reference_says(config: JsonObject) -> None:
    assert errors_of("http", config) == set()


@pytest.mark.parametrize(
    ("config", "pointer", "keyword"),
    [
        ({}, "url", "required"),
        ({"url": 5}, "url", "type"),
        ({"url": ""}, "url", "url"),
        ({"url": "billing.example/report"}, "url", "url"),
        ({"url": "ftp://billing.example"}, "url", "url"),
        ({"url": "file:///etc/passwd"}, "url", "url"),
        ({"url": "http:///report"}, "url", "url"),
        ({"url": "http://:80/"}, "url", "url"),
        ({"url": "http://host:99999/"}, "url", "url"),
        ({"url": "http://host:port/"}, "url", "url"),
        ({"url": "http://[::1/"}, "url", "url"),
        ({"url": "http://ho st/"}, "url", "url"),
        ({"url": "http://host/\r\nX: y"}, "url", "url"),
        ({"url": "http://host/ü"}, "url", "url"),
        ({"url": "http://user:word@host/"}, "url", "url"),
        ({"url": "http://host/" + "x" * 8_192}, "url", "url"),
        ({"url": URL, "method": "post"}, "method", "enum"),
        ({"url": URL, "method": "CONNECT"}, "method", "enum"),
        ({"url": URL, "payload_encoding": "hex"}, "payload_encoding", "enum"),
        ({"url": URL, "expect": []}, "expect", "type"),
        ({"url": URL, "expect": "200"}, "expect", "type"),
        ({"url": URL, "expect": ["2xx"]}, "expect", "status"),
        ({"url": URL, "expect": [True]}, "expect", "status"),
        ({"url": URL, "expect": [99]}, "expect", "status"),
        ({"url": URL, "expect": ["299-200"]}, "expect", "status"),
        ({"url": URL, "auth": "secret://t"}, "auth", "type"),
        ({"url": URL, "auth": {}}, "auth", "required"),
        (
            {
                "url": URL,
                "auth": {
                    "bearer": "secret://t",
                    "basic": {"username": "u", "password": "secret://p"},
                },
            },
            "auth",
            "required",
        ),
        ({"url": URL, "auth": {"basic": {"username": "u"}}}, "auth/basic/password", "required"),
        ({"url": URL, "auth": {"bearer": " "}}, "auth/bearer", "secret"),
        ({"url": URL, "auth": {"bearer": "t0ken"}}, "auth/bearer", "secret"),
        ({"url": URL, "auth": {"bearer": "secret://../x"}}, "auth/bearer", "secret"),
        ({"url": URL, "auth": {"bearer": "secret://t", "digest": 1}}, "auth/digest", "unknown"),
        ({"url": URL, "headers": []}, "headers", "type"),
        ({"url": URL, "headers": {"A": 1}}, "headers/A", "type"),
        ({"url": URL, "headers": {"A": "b\r\nC: d"}}, "headers/A", "header"),
        ({"url": URL, "headers": {"A": "b\x01"}}, "headers/A", "header"),
        ({"url": URL, "headers": {"A": "ü"}}, "headers/A", "header"),
        ({"url": URL, "headers": {"A:": "b"}}, "headers/A:", "header"),
        ({"url": URL, "headers": {"": "b"}}, "headers/", "header"),
        ({"url": URL, "headers": {"A\n": "b"}}, "headers/A\n", "header"),
        ({"url": URL, "headers": {"X-A": "b", "x-a": "c"}}, "headers/x-a", "header"),
        ({"url": URL, "headers": {"Content-Length": "5"}}, "headers/Content-Length", "header"),
        ({"url": URL, "headers": {f"h{n}": "" for n in range(65)}}, "headers", "count"),
        ({"url": URL, "headers": {"A": "x" * 16_384}}, "headers", "size"),
        ({"url": URL, "header": {}}, "header", "unknown"),
        ({"url": URL, "headers": {"A": "secret://"}}, "headers/A", "header"),
        ({"url": URL, "retry_on": 500}, "retry_on", "type"),
        ({"url": URL, "retry_on": ["5xx"]}, "retry_on", "status"),
        ({"url": URL, "redirects": 21}, "redirects", "maximum"),
        ({"url": URL, "redirects": True}, "redirects", "type"),
        ({"url": URL, "proxy": "proxy:3128"}, "proxy", "url"),
        ({"url": URL, "signing": {}}, "signing/secrets", "required"),
        ({"url": URL, "signing": {"secrets": []}}, "signing/secrets", "type"),
        ({"url": URL, "signing": {"secrets": ["whsec_x"]}}, "signing/secrets", "secret"),
        ({"url": URL, "tls": {"verify": "no"}}, "tls/verify", "type"),
        ({"url": URL, "tls": {"ca": "-----BEGIN"}}, "tls/ca", "secret"),
        ({"url": URL, "tls": {"client_key": "secret://k"}}, "tls/client_certificate", "required"),
        ({"url": URL, "auth": {"oauth2": {**OAUTH2, "scope": ""}}}, "auth/oauth2/scope", "blank"),
        (
            {"url": URL, "auth": {"oauth2": {**OAUTH2, "token_url": "x"}}},
            "auth/oauth2/token_url",
            "url",
        ),
        (
            {"url": URL, "auth": {"oauth2": {**OAUTH2, "client_secret": "s"}}},
            "auth/oauth2/client_secret",
            "secret",
        ),
    ],
)
def test_http_says_which_part_is_wrong(config: JsonObject, pointer: str, keyword: str) -> None:
    assert errors_of("http", config) == {(f"/handler/{pointer}", keyword)}


def test_a_wrong_header_is_named_and_its_value_is_not_repeated() -> None:
    config = dumps({"url": URL, "headers": {"Authorization": "Bearer s3cret\n"}})
    (error,) = handler_errors(Handler(type="http", config=config))
    assert "'Authorization'" in error.message
    assert "s3cret" not in error.message


@pytest.mark.parametrize(
    ("kind", "required", "wrong"),
    [
        ("kafka", "topic", ""),
        ("container", "image", 1),
        ("kubernetes", "image", ""),
        ("process", "argv", []),
        ("task", "name", " "),
    ],
)
def test_other_known_types_need_their_one_field(kind: str, required: str, wrong: JsonValue) -> None:
    assert errors_of(kind, {}) == {(f"/handler/{required}", "required")}
    ((pointer, _),) = errors_of(kind, {required: wrong})
    assert pointer == f"/handler/{required}"
    good: JsonValue = ["/bin/true"] if kind == "process" else "name"
    assert errors_of(kind, {required: good}) == set()
    assert errors_of(kind, {required: good, "retrys": 3}) == {("/handler/retrys", "unknown")}


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("kafka", {"key": "", "headers": {"kind": "secret://kind"}, "partitioner": "crc32"}),
        ("kafka", {"partition": 0, "cluster": "analytics", "payload_encoding": "base64"}),
        ("process", {"directory": "/srv", "user": "reports", "env": {"A": "secret://a"}}),
        (
            "container",
            {
                "command": ["/bin/sh"],
                "args": ["-c", ""],
                "limits": {"memory": "512m", "cpus": 0.5, "pids": 100},
                "registry_auth": {"username": "ada", "password": "secret://registry"},
                "user": "1000:1000",
                "network": "none",
                "pull": "always",
                "stop_grace": 0,
            },
        ),
        ("kubernetes", {"namespace": "jobs", "service_account": "r", "limits": {"memory": "1Gi"}}),
        ("kubernetes", {"secret_env": {"DB": "reports-db/password"}}),
    ],
)
def test_each_takes_what_its_page_says(kind: str, config: JsonObject) -> None:
    assert errors_of(kind, {**NEEDED[kind], **config}) == set()


@pytest.mark.parametrize(
    ("kind", "config", "pointer", "keyword"),
    [
        ("kafka", {"topic": "a b"}, "topic", "pattern"),
        ("kafka", {"topic": ".."}, "topic", "pattern"),
        ("kafka", {"topic": "x" * 250}, "topic", "pattern"),
        ("kafka", {"key": "x" * 4_097}, "key", "size"),
        ("kafka", {"partition": -1}, "partition", "minimum"),
        ("kafka", {"partition": 1, "partitioner": "random"}, "partitioner", "conflict"),
        ("kafka", {"partitioner": "md5"}, "partitioner", "enum"),
        ("kafka", {"cluster": "A"}, "cluster", "pattern"),
        ("kafka", {"headers": {"Tocsin-Attempt": "1"}}, "headers/Tocsin-Attempt", "header"),
        ("kafka", {"value": 1}, "value", "unknown"),
        ("process", {"argv": "ls"}, "argv", "type"),
        ("process", {"argv": ["x" * 70_000]}, "argv", "size"),
        ("process", {"directory": "srv"}, "directory", "path"),
        ("process", {"user": "a b"}, "user", "pattern"),
        ("process", {"env": {"1A": ""}}, "env/1A", "variable"),
        ("process", {"env": {"TOCSIN_RUN_ID": ""}}, "env/TOCSIN_RUN_ID", "variable"),
        ("process", {"env": {"A": "secret://?"}}, "env/A", "variable"),
        ("process", {"env": {"A": 1}}, "env/A", "type"),
        ("process", {"shell": True}, "shell", "unknown"),
        ("container", {"image": "a b"}, "image", "pattern"),
        ("container", {"command": []}, "command", "type"),
        ("container", {"limits": {"memory": "lots"}}, "limits/memory", "pattern"),
        ("container", {"limits": {"memory": "1m"}}, "limits/memory", "minimum"),
        ("container", {"limits": {"cpus": 0}}, "limits/cpus", "minimum"),
        ("container", {"limits": {"pids": 0}}, "limits/pids", "minimum"),
        ("container", {"limits": {"disk": 1}}, "limits/disk", "unknown"),
        ("container", {"network": "host"}, "network", "enum"),
        ("container", {"pull": "sometimes"}, "pull", "enum"),
        ("container", {"stop_grace": 301}, "stop_grace", "maximum"),
        ("container", {"registry_auth": {"username": "a"}}, "registry_auth/password", "required"),
        ("container", {"mounts": ["/:/host"]}, "mounts", "unknown"),
        ("container", {"privileged": True}, "privileged", "unknown"),
        ("kubernetes", {"namespace": "Jobs"}, "namespace", "pattern"),
        ("kubernetes", {"service_account": "a/b"}, "service_account", "pattern"),
        ("kubernetes", {"limits": {"pids": 5}}, "limits/pids", "unknown"),
        ("kubernetes", {"env": {"A": "secret://a"}}, "env/A", "variable"),
        ("kubernetes", {"secret_env": {"A": "no-key"}}, "secret_env/A", "pattern"),
    ],
)
def test_each_says_which_part_is_wrong(
    kind: str, config: JsonObject, pointer: str, keyword: str
) -> None:
    assert errors_of(kind, {**NEEDED[kind], **config}) == {(f"/handler/{pointer}", keyword)}


@pytest.mark.parametrize("kind", ["kafka", "process", "container", "acme-mail"])
@pytest.mark.parametrize("text", [b"\\u0000", b"\\ud800"])
def test_b129_no_configuration_holds_what_is_no_text(kind: str, text: bytes) -> None:
    (error,) = handler_errors(Handler(type=kind, config=b'{"a": "x%s"}' % text))
    assert (error.pointer, error.keyword) == ("/handler", "json")


def test_noop_has_no_configuration() -> None:
    assert errors_of("noop", {}) == set()
    assert errors_of("noop", {"sleep": 1}) == {("/handler/sleep", "unknown")}


def test_a_third_party_s_type_keeps_its_configuration_to_itself() -> None:
    assert errors_of("acme-mail_2", {"to": ["a@b.example"], "url": 5}) == set()


@pytest.mark.parametrize("kind", ["", "HTTP", "2fast", "a.b", "a b", "x" * 64, "http\n"])
def test_a_type_is_a_short_lower_case_word(kind: str) -> None:
    assert errors_of(kind, {}) == {("/handler/type", "pattern")}
