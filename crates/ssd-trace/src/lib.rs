//! ssd-trace: trace formats in and out, workload models.
