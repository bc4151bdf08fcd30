/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many CPUs this process may use: by its affinity, and by the quotas of its
 * cgroups.
 */
#ifndef WARPRSA_BATCHING_BASE_USABLE_CPUS_H
#define WARPRSA_BATCHING_BASE_USABLE_CPUS_H

/* At least 1. A quota of a part of a CPU counts as a whole one. Reads files, so
 * not for each operation. Any thread. */
unsigned warprsa_usable_cpus(void);

/*
 * The same by quotas alone: those of cgroup v2 in the cgroup that the file
 * `self` names (as /proc/self/cgroup) below the directory `root` (as
 * /sys/fs/cgroup), and in those above it. 0: no quota, or none that can be
 * read. Any thread.
 */
unsigned warprsa_cgroup_cpus(const char *self, const char *root);

#endif
