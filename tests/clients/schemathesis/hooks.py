"""What the fuzzer has to be told to send: a plugin is bytes, as other files are."""

import schemathesis

schemathesis.serializer.alias("application/wasm", "application/octet-stream")
