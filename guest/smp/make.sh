# SPDX-License-Identifier: MIT OR Apache-2.0
# Writes the sources of a small program, which make compiles, links and runs: it fails if what it computes is wrong.
PATH=/bin:/usr/bin
busybox mkdir -p /make
busybox awk 'BEGIN {
    files = 16; functions = 6; rounds = 100
    for (file = 0; file < files; file++) {
        name = "/make/part" file ".c"
        for (it = 0; it < functions; it++) {
            printf "static int sum%d(int count)\n{\n\tint sum = %d;\n\n", it, file >name
            printf "\tfor (int i = 0; i < count; i++)\n\t\tsum += i & 1 ? i * %d : i + %d;\n", it + 3, file >name
            printf "\treturn sum;\n}\n\n" >name
        }
        printf "int part%d(int count)\n{\n\treturn 0", file >name
        for (it = 0; it < functions; it++) {
            printf " + sum%d(count)", it >name
            all += file
            for (i = 0; i < rounds; i++)
                all += i % 2 ? i * (it + 3) : i + file
        }
        printf ";\n}\n" >name
        close(name)
        declared = declared "int part" file "(int count);\n"
        called = called " + part" file "(" rounds ")"
    }
    printf "%s\nvoid start(void)\n{\n\tint all = 0%s;\n\n", declared, called >"/make/start.c"
    printf "\t__asm__ volatile(\"syscall\" : : \"a\"(60L), \"D\"((long)(all != %d)));\n", all >"/make/start.c"
    printf "\t__builtin_unreachable();\n}\n" >"/make/start.c"
}'
busybox cat >/make/Makefile <<'END'
all: program
	./program

program: start.o $(foreach part,0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15,part$(part).o)
	ld -e start -o $@ $^

%.o: %.c
	cc1 -quiet -ffreestanding -O1 -o $*.s $< && as -o $@ $*.s
END
export PATH
