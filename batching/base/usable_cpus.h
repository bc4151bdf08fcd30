/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many CPUs this process may use: by its affinity, and by the quotas of its
 * cgroups.
 */
#ifndef WARPRSA_BATCHING_BASE_USABLE_CPUS_H
#define WARPRSA_BATCHING_BASE_USABLE_CPUS_H

/* At least 1. A quota of a part of a CPU counts as a whole CPU. Reads files, so
 * it is too slow for each operation. Any thread. */
unsigned warprsa_usable_cpus(void);

/*
 * How many CPUs quotas of cgroup v2 allow. The file `self` (as
 * /proc/self/cgroup) names a cgroup below the directory `root` (as
 * /sys/fs/cgroup); the cgroups above it count too. 0: no quota, or none that
 * can be read. Any thread.
 */
unsigned warprsa_cgroup_cpus(const char *self, const char *root);

#endif
