/* Private to math.c and math_trig.c. */
#ifndef ITG_MATH_PARTS_H
#define ITG_MATH_PARTS_H

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Horner's rule, from the last term down to c[0]. */
static inline double polynomial(double x, const double *c, int count)
{
    double sum = c[count - 1];
    for (int i = count - 2; i >= 0; --i) {
        sum = sum * x;
        sum = sum + c[i];
    }
    return sum;
}

#endif
