#!/bin/sh
# Makes the project of docs/guide.md: a git repository of a small C program with a bug that its own
# tests find.
#   tests/guide/make_project.sh DIRECTORY
set -eu
mkdir "$1"
cd "$1"
mkdir src tests

cat >Makefile <<'END'
CFLAGS = -std=c11 -O1 -Wall -Wextra -Isrc

duration: src/main.c src/duration.c src/duration.h
	$(CC) $(CFLAGS) -o $@ src/main.c src/duration.c

test_duration: tests/test_duration.c src/duration.c src/duration.h
	$(CC) $(CFLAGS) -o $@ tests/test_duration.c src/duration.c

test: test_duration
	./test_duration

.PHONY: test
END

cat >.gitignore <<'END'
/duration
/test_duration
END

cat >src/duration.h <<'END'
#pragma once

/* Seconds of a text like "1h30m" or "45s"; -1 when it is not one. */
long parse_duration(const char *text);
END

cat >src/duration.c <<'END'
#include "duration.h"

#include <ctype.h>

enum { MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR };

static long seconds_of_unit(char unit)
{
    switch (unit) {
    case 's':
        return 1;
    case 'm':
        return HOUR;
    case 'h':
        return HOUR;
    case 'd':
        return DAY;
    default:
        return -1;
    }
}

long parse_duration(const char *text)
{
    long total = 0;

    if (*text == '\0')
        return -1;
    while (*text != '\0') {
        long number = 0;
        long unit;

        if (!isdigit((unsigned char)*text))
            return -1;
        while (isdigit((unsigned char)*text))
            number = 10 * number + (*text++ - '0');
        unit = seconds_of_unit(*text++);
        if (unit < 0)
            return -1;
        total += number * unit;
    }
    return total;
}
END

cat >src/main.c <<'END'
#include "duration.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    long seconds = argc == 2 ? parse_duration(argv[1]) : -1;

    if (seconds < 0) {
        fprintf(stderr, "usage: duration 1h30m\n");
        return 2;
    }
    printf("%ld\n", seconds);
    return 0;
}
END

cat >tests/test_duration.c <<'END'
#include "duration.h"

#include <stdio.h>

static int failures;

static void expect(const char *text, long wanted)
{
    long got = parse_duration(text);

    if (got != wanted) {
        printf("FAIL parse_duration(\"%s\"): %ld, not %ld\n", text, got, wanted);
        ++failures;
    }
}

int main(void)
{
    expect("45s", 45);
    expect("2m", 120);
    expect("1h30m", 5400);
    expect("1d", 86400);
    expect("", -1);
    expect("5x", -1);
    expect("5", -1);
    printf("%d failed\n", failures);
    return failures != 0;
}
END

git init -q -b main
git add .
git -c user.name=guide -c user.email=guide@example.org commit -q -m "Durations: first version"
