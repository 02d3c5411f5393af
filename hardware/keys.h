/* The keys of hardware files: one table for each kind of JSON object. load.c reads files by these
 * tables; schema.c writes the JSON Schema from them. Private to hardware/. */
#ifndef ITG_HARDWARE_KEYS_H
#define ITG_HARDWARE_KEYS_H
#include "base/json.h"
#include "hardware/glob.h"
#include "hardware/hardware.h"

#define ITG_HW_VERSION 1
#define ITG_HW_MAX_FILE_BYTES ((size_t)1 << 20)
#define ITG_HW_MAX_OVERRIDES 1024

/* The kind of a key's value and the type of its field. */
typedef enum itg_hw_kind {
    ITG_HW_FORMAT,        /* the format's version; no field */
    ITG_HW_BOOL,          /* bool */
    ITG_HW_OPTIONAL_BOOL, /* two bools: stated, value */
    ITG_HW_INT,           /* int32_t in [min, max] */
    ITG_HW_BYTES,         /* int64_t in [min, max] */
    ITG_HW_RATE,          /* double > 0 */
    ITG_HW_TEXT,          /* char[max + 1], at least min bytes */
    ITG_HW_CHOICE,        /* an enumeration: one of `choices` */
    ITG_HW_ROUNDINGS,     /* a rounding for all three stages */
    ITG_HW_RANGE,         /* two int32_t: [low, high], both in [min, max] */
    ITG_HW_DTYPE_MASK,    /* uint32_t: list of names in `dtypes` */
    ITG_HW_REQUANT_INDEX, /* int32_t: a name in `requantize` */
    ITG_HW_OBJECT,        /* `object` */
    ITG_HW_DTYPE_MAP,     /* name -> `object` */
    ITG_HW_REQUANT_MAP,   /* name -> `object` */
    ITG_HW_FUSE_PAIRS,    /* [["Conv", "Relu"], ...] */
    ITG_HW_OPERATOR_MAP,  /* operator -> list of specs, or `object` */
    ITG_HW_SPEC_LIST,     /* list of `object` */
    ITG_HW_OVERRIDE_LIST, /* list of `object` */
    ITG_HW_KIND_COUNT
} itg_hw_kind;

typedef struct itg_hw_choice {
    const char *name;
    int value;
} itg_hw_choice;

typedef enum itg_hw_need {
    ITG_HW_OPTIONAL, /* absent: `preset` */
    ITG_HW_REQUIRED,
    ITG_HW_DERIVED /* absent: follows from other keys; `preset` means "not stated" */
} itg_hw_need;

struct itg_hw_object;
typedef struct itg_hw_key {
    const char *name;
    itg_hw_kind kind;
    itg_hw_need need;
    size_t offset; /* of the field, in the struct that the object fills */
    int64_t min, max;
    int64_t preset;
    const itg_hw_choice *choices; /* ends with a NULL name */
    const struct itg_hw_object *object;
    uint32_t only; /* bit v: the key is allowed if the selector's value is v; 0: always */
    const char *help;
} itg_hw_key;

/* selector: the CHOICE key whose value decides which other keys are allowed; NULL: none. */
typedef struct itg_hw_object {
    const char *title;
    const char *selector;
    int32_t key_count;
    const itg_hw_key *keys;
} itg_hw_object;

#define ITG_HW_MAX_KEYS 24 /* of one object */

extern const itg_hw_object itg_hw_file_keys;     /* fills itg_hardware */
extern const itg_hw_object itg_hw_dtype_keys;    /* itg_hw_dtype */
extern const itg_hw_object itg_hw_requant_keys;  /* itg_requant_spec */
extern const itg_hw_object itg_hw_operator_keys; /* itg_hw_op */
extern const itg_hw_object itg_hw_spec_keys;     /* itg_hw_spec */
extern const itg_hw_object itg_hw_override_keys; /* itg_hw_override */

const itg_hw_key *itg_hw_find_key(const itg_hw_object *object, const char *name); /* NULL: absent */
const itg_hw_choice *itg_hw_find_choice(const itg_hw_choice *choices, const char *name);
const char *itg_hw_choice_name(const itg_hw_choice *choices, int value); /* "?": absent */

/* The key in "operators" for all univariate operators that have no key of their own. */
#define ITG_HW_UNIVARIATE "univariate"

/* ---- which arithmetic an operator may name (forms.c): bit f = itg_form f; 0: float islands only
 * ---- */
uint32_t itg_hw_legal_forms(itg_op op);
bool itg_hw_can_fuse_into(itg_op producer,
                          itg_op activation); /* whether a pair may stand in "fuse" at all */
/* "mac, product": the names of a set of forms. Returns buffer. */
const char *itg_hw_form_names(uint32_t forms, char *buffer, size_t size);

/* ---- structure of nodes (match.c) ---- */
/* Whether the spec applies to the node: both have weights, or neither has. */
bool itg_hw_spec_fits(const itg_hw_spec *spec, const itg_graph *g, itg_id node);
/* The dtypes of outputs; for tied forms the dtypes of inputs. */
uint32_t itg_hw_spec_outputs(const itg_hw_spec *spec);
/* The node whose epilogue computes this node's output: the node that it is fused into, or itself
 * (edges.c). */
itg_id itg_hw_host_of(const itg_graph *g, const itg_id *fused, itg_id node);
/* The description's overrides for a node, merged; later ones win. */
itg_hw_override itg_hw_override_of(const itg_hardware *hw, const char *node_name);

/* ---- checks across keys (check.c) ---- */
itg_status itg_hw_check_file(const itg_json *json, const itg_hardware *hw, itg_error *err);
itg_status itg_hw_check_dtype(const itg_json *json, const itg_json_value *v,
                              const itg_hw_dtype *dtype, itg_error *err);
itg_status itg_hw_check_requant(const itg_json *json, const itg_json_value *v,
                                const itg_hardware *hw, const itg_requant_spec *spec,
                                itg_error *err);
itg_status itg_hw_check_spec(const itg_json *json, const itg_json_value *v, const itg_hardware *hw,
                             itg_op op, const itg_hw_spec *spec, itg_error *err);

/* ---- built-in targets (generated from targets/ at build time) ---- */
typedef struct itg_hw_builtin {
    const char *name;
    const unsigned char *json; /* terminated */
    size_t bytes;              /* without the terminator */
} itg_hw_builtin;
extern const itg_hw_builtin itg_hw_builtins[]; /* ends with a NULL name */
#endif
