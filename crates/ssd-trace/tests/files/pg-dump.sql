--
-- PostgreSQL database dump
--

SET client_encoding = 'UTF8';

CREATE TABLE public.io (
    id integer NOT NULL,
    time_us bigint,
    op text,
    "offset_bytes" bigint,
    size_bytes integer
);

COPY public.host (id, name) FROM stdin;
1	db2
2	db3
\.

COPY public.io (id, time_us, op, "offset_bytes", size_bytes) FROM stdin;
1	0	write	3145728	4096
2	1250	read	7340032	16384
3	1500	write	3149824	8192
4	2750	write	9437184	4096
5	4100	read	12288	4096
\.

--
-- PostgreSQL database dump complete
--
COPY public.other (id, note) FROM stdin;
7	x
\.
