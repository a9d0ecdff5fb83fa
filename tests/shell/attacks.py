"""Which test shows which attack defeated: the threats of the design, and the pitfalls of other ledgers.

`tests/shell/test_attacks_table.py` holds it complete, in both directions.
"""

from __future__ import annotations

ENTRIES = "tests/shell/test_attacks_entries.py::test_"
PITFALLS_ = "tests/shell/test_attacks_pitfalls.py::test_"
MONITOR = "tests/shell/test_attacks_monitor.py::test_"
RESTORED = "tests/shell/test_attacks_restored.py::test_"

#: threat -> the tests that show who finds it
THREATS: dict[str, tuple[str, ...]] = {
    "edited entries": (
        "tests/shell/test_attacks_readers.py::test_a_changed_byte_anywhere_is_refused_in_words_by_every_reader",
        f"{ENTRIES}an_edited_entry_is_named_by_the_verifier",
        f"{ENTRIES}an_edited_entry_under_a_head_hashed_anew_is_refused_at_the_next_signature",
        f"{ENTRIES}an_edited_entry_under_a_whole_history_hashed_anew_is_refused_at_the_next_signature",
        f"{ENTRIES}an_edited_entry_hashed_anew_before_it_was_ever_signed_is_named_for_it_does_not_open",
    ),
    "dropped entries": (
        f"{ENTRIES}a_dropped_entry_is_named_by_the_verifier",
        "tests/core/test_verify_bundle.py::test_a_session_that_goes_on_is_not_pruned_without_a_recorded_state",
        f"{ENTRIES}a_dropped_entry_that_was_never_signed_is_named_when_the_others_move_up",
    ),
    "swapped entries": (f"{ENTRIES}swapped_entries_are_named_by_the_verifier",),
    "inserted entries": (
        f"{ENTRIES}an_inserted_entry_is_named_by_the_verifier",
        f"{ENTRIES}an_inserted_entry_that_gets_signed_is_named_for_nobody_without_the_subjects_key_can_seal_one",
        f"{ENTRIES}an_entry_forged_under_a_key_that_never_was_is_named_for_no_erasure_is_on_the_record_of_staff",
        f"{ENTRIES}an_entry_that_a_dishonest_exporter_calls_erased_is_named_for_staff_erased_nobody",
        "tests/core/test_verify_erasures.py::test_a_forged_proof_of_an_erasure_is_refused",
    ),
    "replayed entries": (
        f"{ENTRIES}a_replayed_entry_is_named_by_the_verifier",
        f"{ENTRIES}an_entry_of_a_foreign_session_is_named_by_the_verifier",
    ),
    "a truncated tail": (
        f"{ENTRIES}a_truncated_tail_is_named_by_the_verifier",
        f"{ENTRIES}a_truncated_tail_under_a_head_hashed_anew_is_refused_at_the_next_signature",
        f"{ENTRIES}a_truncated_tail_under_a_whole_history_hashed_anew_is_refused_at_the_next_signature",
        f"{ENTRIES}a_tail_cut_off_before_it_was_ever_signed_is_found_by_the_receipt_that_the_client_holds_alone",
    ),
    "an old genuine head": (
        f"{ENTRIES}an_old_genuine_head_put_back_is_refused_at_the_next_signature",
        "tests/core/test_verify_log.py::test_a_truncated_session_with_an_older_genuine_head_is_found",
    ),
    "two different histories shown to two auditors": (
        f"{ENTRIES}two_histories_are_not_both_signed",
        f"{ENTRIES}two_histories_shown_to_two_auditors_are_found_by_a_held_head_where_the_signer_forgets",
        f"{MONITOR}a_fork_signed_by_a_signer_that_forgot_is_found_by_the_monitor_with_both_heads",
        "tests/shell/test_witness.py::test_two_histories_are_not_both_cosigned",
    ),
    "a restored backup": (
        f"{MONITOR}a_restored_backup_of_everything_is_found_by_the_monitor",
        f"{RESTORED}yesterdays_dump_is_refused_at_the_next_signature_while_sessions_go_on",
        f"{RESTORED}a_copied_data_directory_is_refused_at_the_next_signature_while_sessions_go_on",
        f"{ENTRIES}a_restored_backup_of_everything_is_found_by_a_held_head_and_receipt_alone",
        "tests/shell/test_witness.py::test_a_witness_that_saw_a_longer_log_says_that_ours_was_restored",
    ),
    "a lying key": (
        f"{ENTRIES}a_lying_log_key_fails_under_the_one_that_the_auditor_has",
        f"{ENTRIES}a_lying_subject_key_is_named_by_the_verifier",
        "tests/shell/test_key_commitment.py::test_a_ciphertext_built_to_open_under_two_keys_is_refused",
    ),
    "a foreign session's head": (
        f"{ENTRIES}the_head_of_a_foreign_session_is_refused_at_the_next_signature",
        f"{ENTRIES}the_leaf_of_a_foreign_session_is_not_taken_for_ones_own",
        "tests/core/test_verify_log.py::test_the_head_of_a_foreign_session_does_not_pass",
    ),
    "a proof for another tree": (
        f"{ENTRIES}a_proof_for_another_tree_gets_no_signature_under_it",
        f"{ENTRIES}a_signed_head_of_another_tree_is_not_taken_for_ones_own",
        f"{ENTRIES}a_signed_head_of_a_size_that_the_log_never_had_leads_to_no_export",
        "tests/core/test_verify_log.py::test_a_proof_for_another_tree_does_not_pass",
    ),
}

#: number and words of a pitfall -> the tests that show it avoided
PITFALLS: dict[tuple[int, str], tuple[str, ...]] = {
    (1, "JSONB gives back other bytes"): (
        f"{PITFALLS_}an_envelope_that_went_through_jsonb_means_the_same_and_is_named",
    ),
    (2, "databases round times"): (f"{PITFALLS_}a_time_is_one_text_of_six_digits_which_no_database_has_rounded",),
    (3, "floats, large integers, repeated keys, lone surrogates"): (
        f"{PITFALLS_}numbers_and_names_on_which_readers_disagree_are_refused_by_both_readings",
    ),
    (4, "AES-GCM commits to no key"): (
        "tests/shell/test_key_commitment.py::test_a_ciphertext_built_to_open_under_two_keys_is_refused",
        "tests/core/test_verify_forgeries.py::test_a_ciphertext_that_opens_to_two_texts_cannot_be_disclosed_twice",
    ),
    (5, "an unsalted hash of little is guessed"): (
        f"{PITFALLS_}of_what_was_said_nothing_remains_that_could_be_guessed",
    ),
    (6, "copies that erasing forgets, and holds that it overrides"): (
        "tests/shell/test_erasure.py::test_the_erased_are_found_in_no_file_cache_or_log",
        "tests/shell/test_legal_holds.py::test_a_hold_blocks_an_erasure_until_it_is_lifted",
    ),
    (7, "truncation, restoring and signing again after it"): (
        f"{RESTORED}yesterdays_dump_is_refused_at_the_next_signature_while_sessions_go_on",
        f"{ENTRIES}a_restored_backup_of_everything_is_found_by_a_held_head_and_receipt_alone",
    ),
    (8, "a split view"): (
        f"{ENTRIES}two_histories_shown_to_two_auditors_are_found_by_a_held_head_where_the_signer_forgets",
        "tests/shell/test_witness.py::test_two_histories_are_not_both_cosigned",
        "tests/core/test_verify_log.py::test_a_cosignature_that_the_policy_asks_for_is_missed",
    ),
    (9, "an old checkpoint shown again"): (
        f"{PITFALLS_}an_old_export_shown_again_is_refused_by_the_size_that_the_auditor_knows_of",
        "tests/core/test_verify_log.py::test_a_stale_cosignature_is_refused_when_freshness_is_asked_for",
    ),
    (10, "a log key that was stolen or changed"): (
        f"{PITFALLS_}a_stolen_log_key_rewrites_nothing_of_which_an_auditor_holds_a_head",
        "tests/core/test_verify_log.py::test_after_a_rotation_the_old_key_signs_nothing_any_more",
        "tests/shell/test_sequencer.py::test_a_new_key_is_introduced_in_the_global_log_and_both_sign",
    ),
    (11, "proofs whose lengths and ends are not checked"): (
        "tests/core/test_tlog_small_worlds.py::test_no_mutation_of_an_inclusion_proof_holds",
        "tests/core/test_tlog_small_worlds.py::test_no_mutation_of_a_consistency_proof_holds",
        "tests/core/test_tlog_tree.py::test_equal_roots_that_are_no_hashes_prove_nothing",
    ),
    (12, "leaves taken for nodes, cached hashes for truth"): (
        f"{PITFALLS_}an_inner_node_is_not_taken_for_an_entry_and_a_tile_that_lies_gets_no_signature",
        f"{MONITOR}a_head_map_that_lies_by_an_edited_cache_is_found_by_monitor_and_verifier",
        f"{MONITOR}a_leaf_of_the_global_log_that_was_edited_is_found_by_the_monitor",
    ),
    (13, "entries of at most 65,535 bytes"): (
        f"{PITFALLS_}what_is_larger_than_an_entry_may_be_stands_in_the_payload",
        "tests/core/test_verify_attacks.py::test_an_envelope_too_long_for_its_frame_is_found_and_does_not_stop_the_export",
    ),
    (14, "extension lines in heads"): (f"{PITFALLS_}a_head_with_a_line_more_is_refused_by_both_readings",),
    (15, "a sequence with gaps and late commits"): (
        "tests/shell/test_sequencer.py::test_a_stalled_transaction_stalls_no_round_and_is_not_lost",
        "tests/shell/test_ledger.py::test_eight_writers_at_once_leave_a_gapless_log_whose_root_is_right",
    ),
    (16, "triggers are no security"): (
        f"{PITFALLS_}a_superuser_who_drops_the_triggers_is_found_by_the_verifier",
        f"{PITFALLS_}a_byte_changed_in_the_pages_of_a_table_on_the_disk_is_found_by_the_verifier",
    ),
    (17, "what one tenant's log says of another"): (
        f"{PITFALLS_}the_global_log_of_one_tenant_says_nothing_of_another_and_names_nobody",
    ),
    (18, "keys on which libraries disagree"): (
        f"{PITFALLS_}a_key_under_which_anybody_can_sign_is_refused_by_both_readings",
    ),
    (19, "time stamps that cannot be checked later"): (
        "tests/shell/test_timestamps.py::test_the_newest_head_is_stamped_and_openssl_verifies_it",
        "tests/shell/test_timestamps.py::test_an_answer_over_other_bytes_or_of_another_authority_is_not_kept",
        "tests/shell/test_timestamps.py::test_stamps_that_end_soon_are_renewed_by_one_newer_that_openssl_verifies",
    ),
    (20, "two sequencers at once"): (
        "tests/shell/test_sequencer.py::test_rounds_at_once_lose_and_double_nothing",
        "tests/shell/test_sequencer.py::test_a_deposed_sequencer_writes_nothing",
        "tests/shell/test_sequencer.py::test_two_histories_of_the_global_log_are_not_both_signed",
    ),
    (21, "lenient readers of notes"): (f"{PITFALLS_}a_head_that_a_lenient_reader_takes_is_refused_by_both_readings",),
    (22, "tables dropped or changed"): (
        f"{PITFALLS_}an_emptied_table_names_every_entry_and_a_dropped_one_is_on_record",
        "tests/shell/test_structure.py::test_a_structure_changed_by_hand_is_an_entry_at_the_next_start",
    ),
}
