/* SPDX-License-Identifier: MIT OR Apache-2.0 */
typedef void (*word_call)(void *data, const char *word, int length);

/* How many words a text has. */
int count_words(const char *text);

/* Calls a function for each word, which is at `word` only until that returns. */
void each_word(const char *text, word_call call, void *data);

/* The mean length of the words. */
double mean_length(const char *text);
