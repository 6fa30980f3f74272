/* Computes the tables that all blocks read in the step; when this function returns, all blocks may read them. */
NOINLINE void begin_step(void) {
    const step_view *v = &block()->view;
    team *t = &block()->members;
    % slot("begin_tables", family.on_device) % for _, family in ipairs(attentions)
    team_barrier(t);
}
