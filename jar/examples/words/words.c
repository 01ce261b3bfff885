/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void each_word(const char *text, word_call call, void *data)
{
    while (*text) {
        while (*text && !isalnum((unsigned char)*text))
            text++;
        const char *begin = text;
        while (isalnum((unsigned char)*text))
            text++;
        if (text > begin) {
            char *word = strndup(begin, text - begin);
            call(data, word, text - begin);
            free(word);
        }
    }
}

struct sum {
    int words, letters;
};

static void add(void *data, const char *word, int length)
{
    struct sum *sum = data;
    sum->words++;
    sum->letters += length;
}

int count_words(const char *text)
{
    struct sum sum = {0, 0};
    each_word(text, add, &sum);
    return sum.words;
}

double mean_length(const char *text)
{
    struct sum sum = {0, 0};
    each_word(text, add, &sum);
    return sum.words ? (double)sum.letters / sum.words : 0;
}

/* A static link wants one; it does not run. */
int main(void) { return 0; }
