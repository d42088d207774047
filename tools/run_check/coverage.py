"""Which field of report.json is recomputed by what, and which none of the logs determine."""

from __future__ import annotations

from itertools import product

STATS = "{count,mean,ci95,min,max,stddev,p50,p90,p95,p99,p99_9,p99_99}"
CAUSES = "{host,gc,rmw,wear,parity,metadata,remap,reconstruct,rebuild,fold}"
OPS = "{read,write,trim,flush}"
PARTS = "{queue,chip,transfer,gc_wait,metadata}"

CHECKED: dict[str, tuple[str, ...]] = {
    "counts and pages of the measured requests": (
        "completed",
        "requests.{warmup,submitted,completed,read,write,trim,flush}",
        "host.{pages_read,pages_written}",
    ),
    "replay of what each LPN holds, in the order of admission": (
        "host.{pages_trimmed,unmapped_pages_read}",
        "write_buffer.{pages_coalesced,pages_trimmed,pages_evicted,pages_left}",
    ),
    "pages read less those fetched from flash and those without data": (
        "host.controller_pages_read",
        "write_buffer.pages_read",
    ),
    "pages over the length of the measurement": ("host.{read,write}_bytes_per_s",),
    "latencies sorted, in order of completion for the interval": (
        f"latency.{OPS}.{STATS}",
        f"latency.by_{{volume,stream}}.*.{OPS}.{STATS}",
        f"remap.latency.{STATS}",
    ),
    "latencies of what completed from the failure of the chip to the end of the rebuild": (
        f"raid.failure.{{read,write}}.{STATS}",
    ),
    "sums of the parts over the requests": (f"latency_parts.{{read,write}}.{PARTS}",),
    "arrivals and completions, integrated": (
        "little.{mean_in_system,peak_in_system,throughput,mean_response}",
        "time.{measured_from,simulated}",
        "speed.{requests_per_s,flash_ops_per_s}",
    ),
    "operations that start in the measurement, by cause": (
        f"flash.{{reads,programs,erases_by_cause}}.{CAUSES}",
        "flash.erases",
        f"waf.{{total,{CAUSES[1:]}",
    ),
    "array times of pages and blocks, and transfers": ("energy.{read,program,erase,bus}_time",),
    "the powers of the resolved configuration, times these times": (
        "energy.{read,program,erase,bus,idle,total,per_host_byte}",
    ),
    "programs of each page, and which request has written it last": (
        "tenants.by_{volume,stream}.*.{pages_written,programs,copies,waf,share_of_copies}",
        "tenants.others.{pages_written,programs,copies,waf,share_of_copies}",
    ),
    "time of the array beyond one read": (f"flash.retries.{CAUSES}",),
    "reads inside programs and erases": (f"flash.suspensions.{CAUSES}",),
    "crossings of pages, as single operations take": (
        "controller.traversals.{host,rmw,parity,remap,reconstruct,rebuild,gc,wear,fold}",
        "controller.pages_from_buffer",
    ),
    "fill of every block over time": (
        "device.{used_pages,free_blocks,lowest_free_blocks,used_ratio}",
        "separation.{open_pages,open_share_of_spare}",
    ),
    "the map, replayed": ("device.valid_pages",),
    "the resolved configuration": (
        "device.{page_bytes,user_pages,physical_pages,blocks,bad_blocks}",
        "raid.groups",
        "provenance.seed",
    ),
    "erases of every block": (
        "device.{erase_min,erase_max,erase_mean,erase_stddev}",
        "wear.{erase_min,erase_max,erase_mean,erase_stddev,worn_out_blocks,factory_bad_blocks}",
    ),
    "programs for the host since the device was new": (
        "wear.{host_bytes_written,host_bytes_at_even_wear}",
    ),
    "erases of the pools, repeated until blocks are worn out": (
        "lifetime.{daily_writes,first_block_bytes,first_block_days,bytes_written,days}",
        "lifetime.{drive_writes_per_day,left}",
    ),
    "union of the intervals of operations": ("device.utilisation.{channel,chip}.*",),
    "copies read, programmed, and overtaken by writes": (
        "{gc,wear,slc}.{pages_moved,pages_dropped,pages_stale,pages_in_flight}",
    ),
    "erases by cause; foreground and background, and victims by policy, as sums": (
        "{gc,wear}.calls",
        "slc.folds",
        "gc.{foreground,background}",
        "gc.victims_by_policy.*",
    ),
    "writes and resets of zones, replayed": ("zones.{zones,resets,host_waf}",),
    "pages written less those of the other kind": ("zones.{host_pages,copied_pages}",),
    "kinds of blocks, by their pages between two erases": ("slc.{host_pages,host_share,blocks}",),
    "the distribution of victims, and copies read": ("gc.mean_victim_invalid_ratio",),
    "first operation of a victim to the end of its erase": ("gc.{job_time_mean,job_time_max}",),
    "bounds by victims of the reserve": ("verdict.{decided_by,policy_share,unmet_share}",),
    "programs over the writes that had arrived": ("steady_state.{reached,wa_first,wa_second}",),
    "means of batches of latencies (MSER)": ("warmup.recommended_requests",),
    "programs of parity, and chips that are not at home": (
        "raid.{rmw,rcw,full,merged,redirected,reads_saved,reconstructions}",
        "raid.reconstructed_pages",
    ),
    "raid.fail, and what lay on the chip": (
        "raid.failure.{chips,failed_at,replaced_at}.*",
        "raid.failure.group_chips.*.*",
        "raid.failure.{rebuilt_at,after_requests,degraded,pages_lost,pages_rebuilt,pages_left}",
    ),
    "owners of pages, replayed": (
        "remap.{shared,copied,commands,extra_owners}",
        "remap.pages_by_owners.*",
    ),
    "units.csv.zst, and programs": (
        "separation.fdp.{host_bytes_written,media_bytes_written,media_bytes_erased}",
        "separation.fdp.{units_opened,units_collected}",
        "separation.fdp.{handles.*,shared}.{host_bytes,copied_bytes,opened,collected,moved_bytes}",
    ),
    "power.csv.zst, and requests inside at a cut": (
        "power.{cuts,requests_repeated,pages_repeated,checkpoints,copies_lost}",
        "power.recoveries.*.{cut_at,interrupted,requests,reads,checkpoint_pages,erases}",
        "power.recoveries.*.{torn_pages,mapped_pages,records,saved_pages}",
        "power.{trim_records,live_record_bytes,stale_record_bytes}",
    ),
    "records, pages and erases of a mount, each on all units side by side": (
        "power.recoveries.*.time",
    ),
}
"""The fields that each method recomputes. Brackets list alternatives."""

NOT_DERIVABLE: dict[str, tuple[str, ...]] = {
    "what the program was, and digests of inputs that are in no log": (
        "version",
        "provenance.{ssdlab,results,commit,config_digest,trace_digest,snapshot_digest}",
        "provenance.event_digest",
        "provenance.external_policies.*",
    ),
    "the input of all recomputations": ("config",),
    "of the trace, which is no log: tests/py/test_trace_info.py": (
        "trace_lines.{lines,skipped,late,sorted,loss}",
    ),
    "logs have whole pages": ("host.rmw",),
    "waits for room or records, of which logs tell the time only": (
        "write_buffer.pages_waited",
        "raid.waited_for_room",
        "remap.waited",
        "power.{trims_waited,erases_waited}",
    ),
    "waits inside the interconnect": ("controller.traversal_wait_mean",),
    "metadata come from the flash controllers": ("controller.traversals.metadata",),
    "errors are drawn, and cost nothing on the controller path": ("controller.pages_in_error",),
    "decisions that leave no operation": (
        "gc.{deferred,reserve_promotions}",
        "slc.foreground",
        "raid.{dropped,deferred_gcs}",
        "separation.{classes,host_classes,diverted_copies}",
        "separation.fdp.diverted_copies",
        "remap.{unmapped,refused,refused_alignment,refused_range,refused_overlap}",
        "remap.{copied_chip,copied_lost}",
    ),
    "requests of the host that writes zones, of which the log has those to its drive": (
        f"zones.latency.{OPS}.{STATS}",
    ),
    "programs that were not made": ("raid.failure.pages_not_programmed",),
    "a run with a page that is gone has failed, and its log ends there": ("raid.failure.gone.*",),
    "memory of the simulator": ("remap.extra_owner_bytes", "speed.bytes_per_page"),
    "the content of the NVRAM, which no log has": (
        "power.{owner_records,nvram_peak,live_records,stale_records}",
    ),
    "which blocks were open before a cut is not logged": ("power.recoveries.*.skipped_pages",),
    "what a mount found of parity groups, and the checkpoint that it wrote": (
        "power.recoveries.*.{updates_undone,checkpoint_programs}",
    ),
    "clocks of the computer": ("time.{wall,cpu}",),
    "words about other fields": (
        "verdict.reason",
        "steady_state.reason",
        "warmup.reason",
        "warnings.*",
        "invalidating",
        "series.*",
    ),
}
"""The fields that no log determines, by reason."""


def expanded(text: str) -> list[str]:
    """Return the fields that a text with alternatives in brackets names."""
    parts: list[list[str]] = []
    depth, word = 0, ""
    for letter in text:
        if letter == "{" and depth == 0:
            parts.append([word])
            word, depth = "", 1
        elif letter == "}" and depth == 1:
            parts.append(word.split(","))
            word, depth = "", 0
        else:
            word += letter
    parts.append([word])
    return ["".join(choice) for choice in product(*parts)]


def fields(texts_by_source: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Return how, or why not, for each field."""
    sources: dict[str, str] = {}
    for source, texts in texts_by_source.items():
        for text in texts:
            for field in expanded(text):
                assert field not in sources, field
                sources[field] = source
    return sources


def print_table() -> None:
    """Print every field with what recomputes it, then the fields that nothing recomputes."""
    for title, texts_by_source in (
        ("recomputed from", CHECKED),
        ("in no log, since", NOT_DERIVABLE),
    ):
        for field, source in fields(texts_by_source).items():
            print(f"{field}\t{title}: {source}")
