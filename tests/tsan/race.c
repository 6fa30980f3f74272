/* A deliberate race, which the thread sanitizer must report; otherwise its silence elsewhere means nothing. */
#include <pthread.h>
#include <stdio.h>

static int shared;

static void *add(void *argument) {
    for (int i = 0; i < 1000; i++) shared++;
    return argument;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, add, NULL) != 0) return 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%d\n", shared);
    return 0;
}
