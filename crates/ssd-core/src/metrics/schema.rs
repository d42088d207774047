//! The JSON schema of `report.json`. A test compares it with the structs, in both directions.

use super::counters::Cause;
use serde_json::{Value, json};

fn of_type(name: &str) -> Value {
    match name {
        "count" => json!({"type": "integer", "minimum": 0}),
        "count?" => json!({"type": ["integer", "null"], "minimum": 0}),
        "number" => json!({"type": "number"}),
        "number?" => json!({"type": ["number", "null"]}),
        "share" => json!({"type": "number", "minimum": 0, "maximum": 1}),
        "shares" => json!({"type": "array", "items": of_type("share")}),
        "string" => json!({"type": "string"}),
        "string?" => json!({"type": ["string", "null"]}),
        "strings" => json!({"type": "array", "items": {"type": "string"}}),
        "bool" => json!({"type": "boolean"}),
        "object" => json!({"type": "object"}),
        other => unreachable!("no type is called {other}"),
    }
}

/// An object whose fields, all required, are given as "name:type name:type".
fn object(fields: &str) -> Value {
    let mut schema = json!({"type": "object", "properties": {}, "required": []});
    for field in fields.split_whitespace() {
        let (name, kind) = field.split_once(':').expect("a field is written name:type");
        add(&mut schema, name, of_type(kind));
    }
    schema
}

fn add(schema: &mut Value, name: &str, field: Value) {
    schema["properties"][name] = field;
    schema["required"].as_array_mut().expect("object() makes it").push(json!(name));
}

fn with(mut schema: Value, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    for (name, field) in fields {
        add(&mut schema, name, field);
    }
    schema
}

fn map_of(values: &Value) -> Value {
    json!({"type": "object", "additionalProperties": values})
}

fn or_null(mut schema: Value) -> Value {
    schema["type"] = json!(["object", "null"]);
    schema
}

fn by_cause(kind: &str) -> impl Iterator<Item = (&'static str, Value)> {
    Cause::ALL.map(|cause| (cause.name(), of_type(kind))).into_iter()
}

fn latency() -> Value {
    let stats = object(
        "count:count mean:number? ci95:number? min:count? max:count? stddev:number? p50:count? \
         p90:count? p95:count? p99:count? p99_9:count? p99_99:count?",
    );
    let ops = ["read", "write", "trim", "flush"].map(|op| (op, stats.clone()));
    let by_op = with(object(""), ops);
    let mut latency = by_op.clone();
    latency["properties"]["by_volume"] = map_of(&by_op);
    latency["properties"]["by_stream"] = map_of(&by_op);
    latency
}

fn flash() -> Value {
    let counts = with(object(""), by_cause("count"));
    with(
        object("erases:count"),
        [
            ("reads", counts.clone()),
            ("programs", counts.clone()),
            ("erases_by_cause", counts.clone()),
            ("retries", counts),
        ],
    )
}

fn controller() -> Value {
    let traversals = with(object(""), by_cause("count"));
    let counts = "traversal_wait_mean:number? pages_from_buffer:count pages_in_error:count";
    with(object(counts), [("traversals", traversals)])
}

fn gc() -> Value {
    with(
        object(
            "calls:count foreground:count background:count deferred:count \
             reserve_promotions:count pages_moved:count pages_dropped:count pages_stale:count pages_in_flight:count \
             mean_victim_invalid_ratio:number? job_time_mean:number? job_time_max:count?",
        ),
        [("victims_by_policy", map_of(&of_type("count")))],
    )
}

fn provenance() -> Value {
    with(
        object(
            "ssdlab:string commit:string? seed:count config_digest:string trace_digest:string? \
             snapshot_digest:string? event_digest:string?",
        ),
        [("external_policies", map_of(&of_type("string")))],
    )
}

fn verdict() -> Value {
    let who = json!({"type": "string", "enum": ["policy", "reserve", "nobody"]});
    with(object("policy_share:number? unmet_share:number? reason:string"), [("decided_by", who)])
}

fn wear() -> Value {
    object(
        "calls:count pages_moved:count pages_dropped:count pages_stale:count \
         pages_in_flight:count factory_bad_blocks:count worn_out_blocks:count \
         erase_min:count erase_max:count erase_mean:number erase_stddev:number \
         host_bytes_written:count host_bytes_at_even_wear:number?",
    )
}

fn device() -> Value {
    with(
        object(
            "page_bytes:count user_pages:count physical_pages:count used_pages:count \
             valid_pages:count used_ratio:share blocks:count free_blocks:count \
             lowest_free_blocks:count bad_blocks:count erase_min:count erase_max:count erase_mean:number \
             erase_stddev:number",
        ),
        [("utilisation", object("channel:shares chip:shares"))],
    )
}

/// The schema (draft 2020-12). Readers must accept fields that it does not name.
#[must_use]
pub fn schema() -> Value {
    let parts =
        or_null(object("queue:number chip:number transfer:number gc_wait:number metadata:number"));
    let mut schema = with(
        object("version:count config:object completed:bool warnings:strings"),
        [
            ("provenance", provenance()),
            (
                "requests",
                object(
                    "warmup:count submitted:count completed:count read:count write:count trim:count flush:count",
                ),
            ),
            (
                "trace_lines",
                or_null(object("lines:count skipped:count late:count sorted:bool loss:string?")),
            ),
            (
                "host",
                object(
                    "pages_read:count pages_written:count pages_trimmed:count \
                     unmapped_pages_read:count controller_pages_read:count rmw:count \
                     read_bytes_per_s:number? write_bytes_per_s:number?",
                ),
            ),
            (
                "write_buffer",
                or_null(object(
                    "pages_read:count pages_coalesced:count pages_trimmed:count \
                     pages_evicted:count pages_waited:count pages_left:count",
                )),
            ),
            ("controller", or_null(controller())),
            ("latency", latency()),
            ("flash", flash()),
            ("waf", with(object("total:number?"), by_cause("number?"))),
            ("gc", gc()),
            ("verdict", verdict()),
            ("wear", wear()),
            ("latency_parts", with(object(""), [("read", parts.clone()), ("write", parts)])),
            ("device", device()),
            (
                "steady_state",
                object("reached:bool reason:string wa_first:number? wa_second:number?"),
            ),
            ("warmup", object("recommended_requests:count? reason:string")),
            (
                "little",
                object(
                    "mean_in_system:number? peak_in_system:count throughput:number? \
                     mean_response:number?",
                ),
            ),
            ("time", object("measured_from:count simulated:count wall:count? cpu:count?")),
            (
                "speed",
                object("requests_per_s:number? flash_ops_per_s:number? bytes_per_page:number?"),
            ),
            ("series", map_of(&of_type("string"))),
        ],
    );
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("ssdlab report");
    schema
}
