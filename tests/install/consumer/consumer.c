/* A user of the installed library: opens a model through the public header alone. */
#include <intaglio/intaglio.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    itg_model *model = NULL;
    itg_error err = {0};
    if (argc != 2 || itg_model_open(argv[1], &model, &err) != ITG_OK) {
        fprintf(stderr, "%s\n", argc == 2 ? err.message : "usage: consumer MODEL");
        return 1;
    }
    printf("intaglio %s opened %s\n", itg_engine_version(), itg_model_name(model));
    for (int32_t i = 0; i < itg_model_input_count(model); i++) {
        const itg_shape *shape = itg_model_input_shape(model, i);
        printf("input %s, rank %d, batch %d\n", itg_model_input_name(model, i), (int)shape->rank,
               (int)shape->dims[0]);
    }
    itg_model_close(model);
    return 0;
}
