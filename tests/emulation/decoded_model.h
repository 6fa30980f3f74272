/* Tests of test_model.c for greedy decoding in device code, with cached keys and values. They pass for models that
 * cannot decode. */
#ifndef LH_TESTS_DECODED_MODEL_H
#define LH_TESTS_DECODED_MODEL_H

void test_decoded_logits_are_those_of_whole_passes(void **state);
void test_decoding_in_any_order_and_group_has_the_same_bits(void **state);
void test_decoding_of_several_models_has_the_bits_of_each(void **state);
void test_ending_class_ends_a_sequence_unless_it_is_the_label(void **state);

#endif
