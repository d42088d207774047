COPY public."Requests" (time_us, op, offset_bytes, size_bytes) FROM stdin;
0	W	3145728	4096
1250	R	7340032	16384
1500	W	3149824	8192
2750	W	9437184	4096
4100	R	12288	4096
\.
