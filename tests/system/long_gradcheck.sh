# The gradient checks that test_gradcheck.sh leaves out: with those, every scheme, score of the library and reading.

SCHEMES="rand_sinusoid rope_linear rand_relative_clamped rand_shaw_difference alibi rand_alibi rand_alibi_clamped
    window t5 rand_t5 rand_t5_difference kerple_log rand_kerple_log_difference kerple_power rand_kerple_power_difference
    fire rand_fire fire_causal sandwich rand_sandwich cyclic rand_cyclic distance_table rand_distance_table_difference log_length
    softcap constant_cap list places rand_places_difference alibi_causal geometric_raw rand_geometric_raw
    rand_geometric_plain label rand_sinusoid_unsorted rand_rope_sequence rand_geometric_raw_sequence
    rand_relative_independent rand_shaw_independent rand_alibi_learned_independent rand_learned_onebased
    rand_rope_onebased rand_relative_onebased"

. tests/system/test_gradcheck.sh
