/* Doubles as text and back. Hexadecimal text is read exactly or refused, without rounding. */
#include "base/json.h"
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *itg_hex_double(double value, char *buffer)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const char *sign = bits >> 63 ? "-" : "";
    int biased = (int)(bits >> 52 & 0x7FF);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    if (biased == 0x7FF) {
        snprintf(buffer, 40, "%s", fraction ? "nan" : bits >> 63 ? "-inf" : "inf");
        return buffer;
    }
    char digits[16] = "";
    if (fraction) {
        int count = 13;
        while (!(fraction & 15)) {
            fraction >>= 4;
            count--;
        }
        snprintf(digits, sizeof digits, ".%0*llx", count, (unsigned long long)fraction);
    }
    bool is_zero = biased == 0 && digits[0] == '\0';
    int exponent = is_zero ? 0 : biased == 0 ? -1022 : biased - 1023;
    snprintf(buffer, 40, "%s0x%d%sp%+d", sign, biased != 0, digits, exponent);
    return buffer;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* mantissa * 2^exponent; false: no double equals it. */
static bool compose(uint64_t mantissa, int exponent, double *out)
{
    if (mantissa == 0) {
        *out = 0;
        return true;
    }
    while (!(mantissa & 1)) {
        mantissa >>= 1;
        exponent++;
    }
    int width = 0;
    while (width < 64 && mantissa >> width)
        width++;
    if (width > 53 || exponent < -1074 || exponent + width > 1024) return false;
    *out = ldexp((double)mantissa, exponent);
    return true;
}

/* Reads an optional "p+12" at the text's end. Exponents of more than five digits are invalid. */
static bool parse_exponent(const char *text, int *out)
{
    *out = 0;
    if (*text == '\0') return true;
    if (*text != 'p' && *text != 'P') return false;
    text++;
    int sign = *text == '-' ? -1 : 1, value = 0, digits = 0;
    if (*text == '-' || *text == '+') text++;
    for (; is_digit(*text) && digits < 5; text++, digits++)
        value = value * 10 + (*text - '0');
    if (*text != '\0' || digits == 0) return false;
    *out = sign * value;
    return true;
}

/* Reads the text after "0x". Zeros are added to the mantissa only when another digit follows,
 * because trailing zeros need no bits. */
static bool parse_hex(const char *text, double *out)
{
    uint64_t mantissa = 0;
    int scale = 0, held = 0, digits = 0;
    bool in_fraction = false;
    for (; *text && digits < 64; text++) {
        if (*text == '.' && !in_fraction) {
            in_fraction = true;
            continue;
        }
        int digit = hex_digit(*text);
        if (digit < 0) break;
        digits++;
        if (in_fraction) scale -= 4;
        if (digit == 0) {
            held++;
            continue;
        }
        for (; mantissa && held > 0; held--) {
            if (mantissa >> 60) return false;
            mantissa <<= 4;
        }
        if (mantissa >> 60) return false;
        mantissa = mantissa << 4 | (uint64_t)digit;
        held = 0;
    }
    int exponent;
    if (digits == 0 || !parse_exponent(text, &exponent)) return false;
    return compose(mantissa, exponent + scale + 4 * held, out);
}

/* Whether the text is digits, '.', digits, exponent. strtod would also accept blanks, names and
 * commas of the locale. */
static bool is_decimal(const char *text)
{
    int digits = 0;
    for (; is_digit(*text); text++)
        digits++;
    if (*text == '.') {
        for (text++; is_digit(*text); text++)
            digits++;
    }
    if (digits == 0) return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        if (*text == '-' || *text == '+') text++;
        if (!is_digit(*text)) return false;
        while (is_digit(*text))
            text++;
    }
    return *text == '\0';
}

/* Replaces '.' by the locale's decimal point, the only one that strtod reads. */
static bool parse_decimal(const char *text, double *out)
{
    enum { LONGEST = 100 };
    char copy[LONGEST + 16];
    if (!is_decimal(text) || strlen(text) > LONGEST) return false;
    const char *dot = strchr(text, '.');
    int before = (int)(dot ? (size_t)(dot - text) : strlen(text));
    int length = snprintf(copy, sizeof copy, "%.*s%s%s", before, text,
                          dot ? localeconv()->decimal_point : "", dot ? dot + 1 : "");
    if (length < 0 || (size_t)length >= sizeof copy) return false;
    char *end;
    double value = strtod(copy, &end);
    if (*end != '\0' || !isfinite(value)) return false;
    *out = value;
    return true;
}

bool itg_parse_hex_double(const char *text, double *out)
{
    bool is_negative = *text == '-';
    if (*text == '-' || *text == '+') text++;
    double value;
    if (strcmp(text, "inf") == 0)
        value = (double)INFINITY;
    else if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        if (!parse_hex(text + 2, &value)) return false;
    } else if (!parse_decimal(text, &value))
        return false;
    *out = is_negative ? -value : value;
    return true;
}
