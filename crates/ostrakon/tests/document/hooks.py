"""What the API document cannot say about valid data, for schemathesis.

A schema says which requests are well formed. Some well-formed ones are refused all the same, for
reasons that no schema can know. Each such field is named here with its reason; a refusal because of
any other field is a failure: then the document promises too much.
"""

import re

import schemathesis

OPAQUE = "a cursor is opaque: only one that was given by the server is right"
EXISTS = "a project needs a chain that is there"
FUTURE = "a token ends in the future, and what that is changes"
SAME = "the body names the chain of the path"
WEAK = "passwords that are guessed first, or are the name, are refused"
ADDRESS = "what a host is needs more than a pattern; private ones are refused"
TWICE = "names of nodes are unique in their chain, and a port belongs to an address"
PERIOD = "a period is counted for an owner only"
RESERVED = "some words are addresses of our own"
CHECKSUM = "the last letters of base32 are a checksum of the others"
ORDER = "a stretch of time begins before it ends"
MEANING = "what an event says is more than a schema can tell, and what cannot be applied is kept"
WORDS = "the words for states stand in the description"
TRANSACTION = "a transaction and a signature have a form that no pattern describes"

KNOWN = [
    ("GET /api/chains", "cursor", OPAQUE),
    ("GET /api/projects", "cursor", OPAQUE),
    ("GET /api/chains/{chain}/projects", "cursor", OPAQUE),
    ("GET /api/{chain}/.*", "cursor", OPAQUE),
    ("GET /api/staking/.*", "cursor", OPAQUE),
    ("GET /api/staking/history", "from", ORDER),
    ("POST /api/staking/events", "", MEANING),
    ("GET /api/{chain}/(accounts|miners)/{address}(/.*)?", "address", CHECKSUM),
    ("GET /api/projects/count", "owner", PERIOD),
    ("GET /api/projects(/count)?", "chain", RESERVED),
    ("POST /api/projects", "chain", EXISTS),
    ("POST /api/account/tokens", "expires", FUTURE),
    ("PUT /api/chains/{chain}", "name", SAME),
    ("POST /api/accounts", "password", WEAK),
    ("POST /api/webhooks", "url", ADDRESS),
    ("POST /api/webhooks", "chain", RESERVED),
    ("(POST|PUT) /api/chains(/{chain})?", "name", RESERVED),
    (r"(POST|PUT) /api/chains(/{chain})?", r"nodes\[\d+\]\.(http|ws)", ADDRESS),
    (r"(POST|PUT) /api/chains(/{chain})?", r"nodes\[\d+\]\.(name|http_port|ws_port)", TWICE),
]

# Babylon's API names no field; its messages are the original's.
BABYLON = "(GET|POST) /compat/babylon/v1/"
SAID = [
    (BABYLON + ".*", "invalid pagination key.*", OPAQUE),
    (BABYLON + "staker/delegations", "invalid delegation state: (.|\n)*", WORDS),
    (BABYLON + "staker/.*", "unsupported btc address type|can not decode btc address.*", ADDRESS),
    (BABYLON + "unbonding", "invalid (unbonding transaction|staker signed signature) hex", TRANSACTION),
]


@schemathesis.check
def valid_data_acceptance(ctx, response, case):
    """Well-formed data is refused only for a reason that no schema can know."""
    positive = case.meta is not None and case.meta.generation.mode.is_positive
    if not positive or response.status_code not in (400, 415, 422):
        return
    problem = response.json()
    for operation, said, _reason in SAID:
        message = problem.get("message", "")
        if re.fullmatch(operation, case.operation.label) and re.fullmatch(said, message):
            return
    field = problem.get("field", "")
    # By the letter of JSON Schema 1.0 is whole; here whole numbers are written without a fraction.
    if re.search(r"invalid type: floating point `-?\d+\.0`, expected", problem.get("detail", "")):
        return
    for operation, known, _reason in KNOWN:
        if re.fullmatch(operation, case.operation.label) and re.fullmatch(known, field):
            return
    raise AssertionError(f"valid data was refused because of {field!r}: {response.text}")
