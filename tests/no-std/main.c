/* Calls the static library and checks that it did its work. No standard library of Rust is on the link line. */
#include <stddef.h>
#include <stdio.h>

extern size_t mcp_sse_call(void);

int main(void) {
    size_t length = mcp_sse_call();
    printf("no_std: the result has %zu bytes\n", length);
    return length == sizeof("{\"tools\":[]}") - 1 ? 0 : 1;
}
