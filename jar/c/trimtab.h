/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a C program that trimtab translated can do with Java. `trimtab jar --stubs` writes this file
 * and the functions.
 */
#ifndef TRIMTAB_H
#define TRIMTAB_H

#ifdef __cplusplus
extern "C" {
#endif

/* A Java object, by a number; 0 is null. What a function of Java's gives back belongs to the caller,
 * which releases it; what a C function is given by Java is Java's until the function returns, unless
 * it retains it. */
typedef int java_object;

/* One user less: without users, the number stands for nothing. */
void java_release(java_object object);

/* One user more. Gives the object back. */
java_object java_retain(java_object object);

/* Throws a trimtab.embed.ProgramException. No C function between here and who catches it goes on. */
void java_throw(const char *message) __attribute__((noreturn));

/* Calls a function. Gives 0, or the exception that came out of it, to be released. */
java_object java_try(void (*function)(void *), void *argument);

/* Writes what an object's toString says, cut to `size` bytes with the zero. Gives its whole length. */
int java_message(java_object object, char *buffer, int size);

#ifdef __cplusplus
}
#endif
#endif
