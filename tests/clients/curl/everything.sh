#!/usr/bin/env bash
# The whole API of a Mind with curl: everything.sh <base url> <key> <mind> <answer>
#
# The ninth answer of the Mind's model breaks off in the middle and the tenth is silent; the key may have one answer in
# the background.
set -euo pipefail
base=$1 key=$2 mind=$3 answer=$4

# A request: method, path, body, further options of curl. Prints the body.
send() { curl -sS --fail-with-body -X "$1" -H "Authorization: Bearer $key" "$base$2" ${3:+--json "$3"} "${@:4}"; }

# What jq says of standard input must be true; of nothing, nothing is.
holds() { [ "$(jq "$@")" = true ] || { echo "line ${BASH_LINENO[0]}: not so: ${*: -1}" >&2; exit 1; }; }

# A request that is refused: status and code, then as `send`. Prints the body.
refused() {
    local reply
    reply=$(curl -sS -X "$3" -H "Authorization: Bearer $key" "$base$4" ${5:+--json "$5"} "${@:6}" -w '\n%{http_code}')
    [ "${reply##*$'\n'}" = "$1" ] || { echo "line ${BASH_LINENO[0]}: $1 expected: $reply" >&2; exit 1; }
    holds --arg code "$2" '.error | .code == $code and (.message | length > 0) and has("type") and has("param")' <<<"${reply%$'\n'*}"
}

# The data of the events on standard input, one a line.
data() { sed -n 's/^data: //p'; }
# A body for /responses: more fields in jq's words.
ask() { jq -nc --arg mind "$mind" "{model: \$mind, input: \"How many items are there?\"} + $1"; }
said() { holds --arg answer "$answer" '.status == "completed" and .output[0].content[0].text == $answer'; }

# Without a stream, and with one.
response=$(send POST /responses "$(ask '{}')")
said <<<"$response"
events=$(send POST /responses "$(ask '{stream: true}')" -N)
grep -q '^event: response.output_text.delta$' <<<"$events"
data <<<"$events" | holds -s --arg answer "$answer" '
    ([.[].sequence_number] == [range(1; length + 1)])
    and (map(select(.type == "response.output_text.delta").delta) | add) == $answer
    and .[0].type == "response.created" and .[-1].type == "response.completed"'
minimal=$(send POST /responses "$(ask '{stream: true}')" -N -H 'x-mindhost-events: minimal')
data <<<"$minimal" | holds -s '[.[].type] | unique == ["response.completed", "response.created", "response.in_progress",
    "response.output_text.delta"]'

# Read, as a stream too, and deleted.
id=$(jq -r .id <<<"$response")
[ "$(send GET "/responses/$id")" = "$response" ]
send GET "/responses/$id?stream=true" | data | holds -s --arg id "$id" '.[-1].response.id == $id'
send DELETE "/responses/$id" | holds '.deleted'
refused 404 response_not_found GET "/responses/$id"

# Messages with roles and parts, nothing of it kept.
messages='{input: [{role: "developer", content: "Be polite."},
    {type: "message", role: "user", content: [{type: "input_text", text: "How many?"}]}]}'
response=$(send POST /responses "$(ask "$messages + {store: false, instructions: \"Be brief.\", max_output_tokens: 500}")")
said <<<"$response"
refused 404 response_not_found GET "/responses/$(jq -r .id <<<"$response")"

# A conversation, and a second turn in it, sent twice under one name.
conversation=$(send POST /conversations '{"items": [{"role": "user", "content": "one"}], "metadata": {"topic": "items"}}')
id=$(jq -r .id <<<"$conversation")
send GET "/conversations/$id" | holds '.metadata.topic == "items"'
send POST "/conversations/$id" '{"metadata": {"topic": "more"}}' | holds '.metadata.topic == "more"'
send POST "/conversations/$id/items" '{"items": [{"role": "user", "content": "two"}]}' | holds '.data[0].content[0].text == "two"'
turn=$(ask "{conversation: \"$id\", metadata: {purpose: \"test\"}}")
response=$(send POST /responses "$turn" -H 'Idempotency-Key: the-first')
said <<<"$response"
holds '.metadata.purpose == "test"' <<<"$response"
[ "$(send POST /responses "$turn" -H 'Idempotency-Key: the-first')" = "$response" ]
next=$(send POST /responses "$(ask "{previous_response_id: $(jq .id <<<"$response")}")")
holds --arg id "$id" '.conversation.id == $id' <<<"$next"

# Its items in both orders and in pages, one of them, one less, none.
holds '.data | [.[].role] == ["user", "user", "user", "assistant", "user", "assistant"]' <<<"$(send GET "/conversations/$id/items?order=asc")"
page=$(send GET "/conversations/$id/items?limit=4")
holds '.has_more and (.data[0].role == "assistant")' <<<"$page"
last=$(jq -r .last_id <<<"$page")
send GET "/conversations/$id/items?after=$last" | holds '(.has_more | not) and ([.data[].content[0].text] == ["two", "one"])'
send GET "/conversations/$id/items/$last" | holds --arg last "$last" '.id == $last'
send DELETE "/conversations/$id/items/$last" | holds --arg id "$id" '.id == $id'
send GET /conversations | holds --arg id "$id" '.data | any(.id == $id)'
send DELETE "/conversations/$id" | holds '.deleted'
refused 404 conversation_not_found GET "/conversations/$id/items"

# Chats, with a stream and without; models, with a slash at the end and without.
chat='{messages: [{role: "user", content: "How many?"}]}'
send POST /chat/completions "$(ask "$chat")" | holds --arg answer "$answer" '.choices[0].message.content == $answer'
events=$(send POST /chat/completions "$(ask "$chat + {stream: true}")" -N | data)
[ "$(tail -1 <<<"$events")" = '[DONE]' ]
sed '$d' <<<"$events" | holds -s --arg answer "$answer" '(map(.choices[0].delta.content // "") | add) == $answer'
for path in /models /models/; do
    send GET "$path" | holds --arg mind "$mind" '.data | any(.id == $mind)'
done
send GET "/models/$mind/" | holds '.object == "model"'

# A stream that fails says so.
events=$(send POST /responses "$(ask '{stream: true}')" -N | data)
holds -s '(.[-2].type == "error") and (.[-2].code == "upstream_error") and (.[-1].type == "response.failed")' <<<"$events"

# In the background: under way, one too many, cancelled.
response=$(send POST /responses "$(ask '{background: true}')")
id=$(jq -r .id <<<"$response")
exec {events}< <(send GET "/responses/$id?stream=true" '' -N)
grep -qm1 '"delta":"There "' <&$events
send GET "/responses/$id" | holds '.status == "in_progress"'
refused 429 rate_limit_exceeded POST /responses "$(ask '{background: true}')"
send POST "/responses/$id/cancel" | holds '.status == "cancelled"'
data <&$events | holds -s '.[-1].type == "response.failed"'

# What is refused.
refused 400 invalid_parameter POST /responses "$(ask '{input: []}')"
refused 400 invalid_body POST /responses '{'
refused 403 direct_queries_not_allowed POST /responses "$(ask '{tools: [{type: "sql_query", query: "SELECT 1"}]}')"
refused 404 mind_not_found POST /responses "$(ask '{model: "nobody"}')"
refused 404 route_not_found GET /nothing
refused 405 method_not_allowed PUT /responses
refused 409 idempotency_key_reused POST /responses "$(ask '{input: "Another?"}')" -H 'Idempotency-Key: the-first'
refused 415 unsupported_media_type POST /responses '' -H 'Content-Type: text/plain' -d '{}'
key=mh_wrong
refused 401 invalid_api_key GET /models
echo ok
